package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Stabilization window of the default configuration.
const window = time.Second

// measureTogether completes the main containers of all pods of a node in the same instant: each reads from the same named
// pipe, which the benchmark closes.
func (b *bench) measureTogether() {
	controller := b.controller()
	defer controller.end()
	folder := filepath.Join(b.folder, "together")
	check(os.Mkdir(folder, 0o755))
	pipe := filepath.Join(folder, "end")
	check(syscall.Mkfifo(pipe, 0o644))
	names := make([]string, b.together)
	for number := range names {
		names[number] = fmt.Sprintf("together-%d", number)
		b.createReal(names[number], "cat /end/end; echo done", []object{{"name": "end", "hostPath": object{"path": folder}}})
	}
	b.await(len(names), "Running")
	// The machine has started a proxy for each pod.
	time.Sleep(10 * time.Second)
	writer := must(os.OpenFile(pipe, os.O_WRONLY, 0))
	check(writer.Close())
	b.await(len(names), "Succeeded")
	took := make([]time.Duration, len(names))
	for number, name := range names {
		took[number] = b.exitDelay(name) - window
	}
	fmt.Printf("| main container exit to proxy exit beyond the stabilization window, %d pods of one node at once | measured | target |\n|---|---|---|\n", len(names))
	fmt.Printf("| p50, s | %.2f | 0.5 |\n| p99, s | %.2f | 1.5 |\n\n", percentile(took, 50).Seconds(), percentile(took, 99).Seconds())
	b.remove()
}

// await waits until this many pods of the run have a phase, with all containers running in phase Running.
func (b *bench) await(count int, phase string) {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		var list struct {
			Items []struct {
				Status struct {
					Phase             string
					ContainerStatuses []struct{ State struct{ Running *struct{} } }
				}
			}
		}
		check(json.Unmarshal(must(b.api.request("GET", pods(b.namespace), nil)), &list))
		found := 0
		for _, pod := range list.Items {
			running := 0
			for _, container := range pod.Status.ContainerStatuses {
				if container.State.Running != nil {
					running++
				}
			}
			if pod.Status.Phase == phase && (phase != "Running" || running == 2) {
				found++
			}
		}
		if found == count {
			return
		}
		if time.Since(began) > 5*time.Minute {
			panic(fmt.Sprintf("%d of %d pods are %s", found, count, phase))
		}
	}
}
