package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	outboundPort = 15001
	inboundPort  = 15006
	proxyUser    = "1337"
)

// interception writes the rules that redirect the traffic of the pod to Envoy: the chains and their order are those of
// Istio's init container, with its flags.
func interception(flags map[string]string) error {
	for _, rule := range rules(flags) {
		command := exec.Command("/usr/local/bin/iptables-nft", append([]string{"-t", "nat"}, strings.Fields(rule)...)...)
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("iptables %s: %w: %s", rule, err, output)
		}
		fmt.Fprintln(os.Stdout, "iptables -t nat", rule)
	}
	return nil
}

// rules returns the rules in order. -i and -x list the ranges to which connections are captured and not captured, -b and
// -d the inbound ports, -o the outbound ports that are not captured, -c the interfaces.
func rules(flags map[string]string) []string {
	rules := []string{
		"-N ISTIO_INBOUND", "-N ISTIO_REDIRECT", "-N ISTIO_IN_REDIRECT", "-N ISTIO_OUTPUT",
		"-A ISTIO_INBOUND -p tcp --dport 15008 -j RETURN",
		fmt.Sprintf("-A ISTIO_REDIRECT -p tcp -j REDIRECT --to-ports %d", outboundPort),
		fmt.Sprintf("-A ISTIO_IN_REDIRECT -p tcp -j REDIRECT --to-ports %d", inboundPort),
	}
	add := func(format string, values ...any) { rules = append(rules, fmt.Sprintf(format, values...)) }

	included := items(flags["b"])
	if len(included) > 0 {
		add("-A PREROUTING -p tcp -j ISTIO_INBOUND")
		if flags["b"] == "*" {
			for _, port := range items(flags["d"]) {
				add("-A ISTIO_INBOUND -p tcp --dport %s -j RETURN", port)
			}
			add("-A ISTIO_INBOUND -p tcp -j ISTIO_IN_REDIRECT")
		} else {
			for _, port := range included {
				add("-A ISTIO_INBOUND -p tcp --dport %s -j ISTIO_IN_REDIRECT", port)
			}
		}
	}
	for _, name := range items(flags["c"]) {
		add("-I PREROUTING 1 -i %s -j RETURN", name)
		add("-A ISTIO_OUTPUT -o %s -j RETURN", name)
	}

	add("-A OUTPUT -p tcp -j ISTIO_OUTPUT")
	for _, port := range items(flags["o"]) {
		add("-A ISTIO_OUTPUT -p tcp --dport %s -j RETURN", port)
	}
	add("-A ISTIO_OUTPUT -o lo -s 127.0.0.6/32 -j RETURN")
	for _, owner := range []string{"uid", "gid"} {
		add("-A ISTIO_OUTPUT -o lo ! -d 127.0.0.1/32 -p tcp ! --dport 15008 -m owner --%s-owner %s -j ISTIO_IN_REDIRECT", owner, proxyUser)
		add("-A ISTIO_OUTPUT -o lo -m owner ! --%s-owner %s -j RETURN", owner, proxyUser)
		add("-A ISTIO_OUTPUT -m owner --%s-owner %s -j RETURN", owner, proxyUser)
	}
	add("-A ISTIO_OUTPUT -d 127.0.0.1/32 -j RETURN")
	for _, block := range items(flags["x"]) {
		add("-A ISTIO_OUTPUT -d %s -j RETURN", block)
	}
	if flags["i"] == "*" {
		add("-A ISTIO_OUTPUT -j ISTIO_REDIRECT")
	} else {
		for _, block := range items(flags["i"]) {
			add("-A ISTIO_OUTPUT -d %s -j ISTIO_REDIRECT", block)
		}
	}
	return rules
}

// items splits a list, and leaves out empty items.
func items(text string) []string {
	return strings.FieldsFunc(text, func(letter rune) bool { return letter == ',' })
}
