package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// measurePort loads servers that are pinned to one core from a client that is pinned to another.
func measurePort(pair pair, e *environment, o options) {
	namespace := e.variants[len(e.variants)-1].namespace
	bodies := []string{filepath.Join(pair.folder, "3"), filepath.Join(pair.folder, "17")}
	check(os.WriteFile(bodies[0], review(namespace, smallPod()), 0o600))
	check(os.WriteFile(bodies[1], review(namespace, injectedPod()), 0o600))

	pinned := []string{"taskset", "--cpu-list", "0"}
	trainmesh := start(pinned, nil, o.trainmesh, webhookArguments(pair, o)...)
	defer trainmesh.end()
	trainmesh.ready()
	noop := start(pinned, nil, o.noop, pair.certificate, pair.key)
	defer noop.end()
	urls := []string{trainmesh.address + "/mutate", noop.address + "/noop"}

	rates := map[string][]float64{}
	for round := range o.rounds {
		for _, body := range bodies {
			for turn := range urls {
				// The machine changes over time, so that the servers alternate as the first one.
				url := urls[(round+turn)%len(urls)]
				rates[body+url] = append(rates[body+url], load(pair, url, body, o.second))
			}
		}
	}
	fmt.Printf("| direct load on the port: one core, TLS, %d connections, median of %d | trainmesh | no-op webhook | target |\n", connections, o.rounds)
	fmt.Println("|---|---|---|---|")
	for index, what := range []string{"uninjected pod, requests/s", "injected pod, requests/s"} {
		body := bodies[index]
		fmt.Printf("| %.1f KB, %s | %.0f | %.0f | %s |\n", kb(must(os.ReadFile(body))), what,
			median(rates[body+urls[0]]), median(rates[body+urls[1]]), []string{">= 5000", ">= 2000"}[index])
	}
	fmt.Printf("| peak memory, MiB | %.1f | %.1f | <= 20 |\n\n", trainmesh.memory(), noop.memory())
}

func load(pair pair, url, body string, length time.Duration) (rate float64) {
	self := must(os.Executable())
	command := exec.Command("taskset", "--cpu-list", "1", self, "load", pair.certificate, url, body, length.String())
	command.Stderr = os.Stderr
	must(fmt.Sscan(strings.TrimSpace(string(must(command.Output()))), &rate))
	return rate
}

func measureStarts(pair pair, o options) {
	var took []time.Duration
	for range o.starts {
		p := start(nil, nil, o.trainmesh, webhookArguments(pair, o)...)
		took = append(took, p.ready())
		p.end()
	}
	fmt.Println("| | trainmesh | aim |")
	fmt.Println("|---|---|---|")
	fmt.Printf("| start to ready, median of %d, ms | %.0f | <= 300 |\n", o.starts, ms(median(took)))
}

func measureSize(binary string) {
	info := must(os.Stat(binary))
	fmt.Printf("| binary, MB | %.1f | <= 15 |\n", float64(info.Size())/1e6)
}
