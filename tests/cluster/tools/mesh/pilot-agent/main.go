// Command pilot-agent replaces Istio's program of that name in the test image
// istio-proxy. It runs the real Envoy; only the parts that terminate a proxy, wait for it or
// send it requests are reimplemented, with the ports, exit codes and timeouts of Istio 1.26 and later.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const usage = `usage:
  pilot-agent proxy [sidecar]
  pilot-agent istio-iptables [-i RANGES] [-x RANGES] [-b PORTS] [-d PORTS] [-o PORTS] [-c INTERFACES]
  pilot-agent request METHOD PATH [BODY] [--debug-port N]
  pilot-agent wait [--timeoutSeconds N] [--periodMillis N] [--requestTimeoutMillis N] [--url URL]`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	words, flags, err := parse(os.Args[2:])
	if err == nil {
		switch os.Args[1] {
		case "proxy":
			err = proxy()
		case "istio-iptables":
			err = interception(flags)
		case "request":
			err = request(words, flags)
		case "wait":
			err = wait(flags)
		default:
			err = fmt.Errorf("unknown command %q\n%s", os.Args[1], usage)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// parse accepts flags and words in any order, like the original: `--name value`, `--name=value`, and `-n value`.
func parse(args []string) (words []string, flags map[string]string, err error) {
	flags = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(strings.Replace(args[i], "--", "-", 1), "-")
		if !isFlag {
			words = append(words, args[i])
			continue
		}
		name, value, given := strings.Cut(name, "=")
		if !given {
			if i++; i == len(args) {
				return nil, nil, fmt.Errorf("flag needs an argument: --%s", name)
			}
			value = args[i]
		}
		flags[name] = value
	}
	return words, flags, nil
}

func number(flags map[string]string, name string, fallback int) (int, error) {
	text, given := flags[name]
	if !given {
		return fallback, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("invalid argument %q for --%s", text, name)
	}
	return value, nil
}
