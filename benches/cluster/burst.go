package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Number of pods on each fake node.
const onNode = 100

// burst collects the results for fake pods that finish at once.
type burst struct {
	sync.Mutex
	ended, requested map[string]time.Time
	all              sync.WaitGroup
}

// measureBurst terminates the main containers of many fake pods at once. kwok runs a program for each exec, which
// reports to this benchmark; the benchmark acts as the kubelet and reports to the apiserver that the proxy has
// terminated.
func (b *bench) measureBurst() {
	names := make([]string, b.burst)
	for number := range names {
		names[number] = fmt.Sprintf("burst-%d", number)
	}
	seen := &burst{ended: map[string]time.Time{}, requested: map[string]time.Time{}}
	seen.all.Add(len(names))
	socket := filepath.Join(b.folder, "socket")
	listener := must(net.Listen("unix", socket))
	defer listener.Close()
	go b.serve(listener, seen)
	b.startKwok(names, socket)
	defer command(b.lab, "kwok", "stop")
	defer b.makeNodes((b.burst + onNode - 1) / onNode)()

	controller := b.controller()
	defer controller.end()
	each(len(names), func(number int) { b.makeFake(names[number], number/onNode, 26) })
	each(len(names), func(number int) { b.setStatus(names[number], "Running", running(), running()) })

	failed, before := b.api.failures(), readUsage()
	began := time.Now()
	each(len(names), func(number int) {
		end := time.Now()
		seen.Lock()
		seen.ended[names[number]] = end
		seen.Unlock()
		b.setStatus(names[number], "Running", ended(end), running())
	})
	updated := time.Since(began)
	seen.all.Wait()
	after := readUsage()
	var took []time.Duration
	last := began
	for name, end := range seen.ended {
		requested := seen.requested[name]
		took = append(took, requested.Sub(end))
		if requested.After(last) {
			last = requested
		}
	}
	fmt.Printf("| %d pods that terminate at once, settle 1 s | measured | target |\n|---|---|---|\n", b.burst)
	fmt.Printf("| first main container exit to last exec, s | %.1f | 12 |\n", last.Sub(began).Seconds())
	fmt.Printf("| of that, until all statuses were written, s | %.1f | |\n", updated.Seconds())
	fmt.Printf("| main container exit to exec, p50, s | %.2f | |\n| p99, s | %.2f | |\n", percentile(took, 50).Seconds(), percentile(took, 99).Seconds())
	fmt.Printf("| requests that the apiserver rejected or failed | %.0f | 0 |\n", b.api.failures()-failed)
	fmt.Printf("| peak memory, MiB | %.1f | |\n\n", controller.memory())
	after.printSince(before)
	b.remove()
}

// serve receives a report for every exec, and marks the pod's proxy as terminated.
func (b *bench) serve(listener net.Listener, seen *burst) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			name := must(bufio.NewReader(connection).ReadString('\n'))
			name = name[:len(name)-1]
			seen.Lock()
			_, again := seen.requested[name]
			if !again {
				seen.requested[name] = time.Now()
			}
			end := seen.ended[name]
			seen.Unlock()
			if !again {
				b.setStatus(name, "Succeeded", ended(end), ended(time.Now()))
				seen.all.Done()
			}
		}()
	}
}

// startKwok makes an exec in each of these pods run the agent, with the pod's name in its environment.
func (b *bench) startKwok(names []string, socket string) {
	var config bytes.Buffer
	for _, name := range names {
		config.WriteString("---\n")
		config.Write(must(json.Marshal(object{"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Exec",
			"metadata": object{"name": name, "namespace": b.namespace},
			"spec": object{"execs": []object{{"local": object{"envs": []object{
				{"name": "POD", "value": name}, {"name": "BENCH_SOCKET", "value": socket}}}}}}})))
		config.WriteString("\n")
	}
	path, bin := filepath.Join(b.folder, "kwok.yaml"), filepath.Join(b.folder, "bin")
	check(os.WriteFile(path, config.Bytes(), 0o600))
	check(os.MkdirAll(bin, 0o700))
	check(os.Symlink(b.agent, filepath.Join(bin, quitter)))
	command(b.lab, "kwok", "start", path, bin)
}
