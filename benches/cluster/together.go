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
	reported := b.watchExits(len(names))
	before := readUsage()
	writer := must(os.OpenFile(pipe, os.O_WRONLY, 0))
	check(writer.Close())
	b.await(len(names), "Succeeded")
	after := readUsage()
	exits := <-reported
	var took, kubelet, action []time.Duration
	for _, name := range names {
		exit := b.lastLine(name, "train", "done")
		end := b.lastLine(name, "istio-proxy", "Envoy exited normally")
		took = append(took, end.Sub(exit)-window)
		kubelet = append(kubelet, exits[name].Sub(exit))
		action = append(action, end.Sub(exits[name]))
	}
	fmt.Printf("| main container exit to proxy exit beyond the stabilization window, %d pods of one node at once | measured | target |\n|---|---|---|\n", len(names))
	fmt.Printf("| p50, s | %.2f | 0.5 |\n| p99, s | %.2f | 1.5 |\n\n", percentile(took, 50).Seconds(), percentile(took, 99).Seconds())
	fmt.Printf("| steps | p50 | p99 |\n|---|---|---|\n")
	for _, step := range []struct {
		name  string
		times []time.Duration
	}{
		{"main container exit to the report of the kubelet", kubelet},
		{"report to proxy exit, with the rest of the window", action},
	} {
		fmt.Printf("| %s, s | %.2f | %.2f |\n", step.name, percentile(step.times, 50).Seconds(), percentile(step.times, 99).Seconds())
	}
	fmt.Println()
	after.printSince(before)
	b.remove()
}

// watchExits returns a channel with the time at which the apiserver reported the exit of each pod's main container, once
// this many are known.
func (b *bench) watchExits(count int) <-chan map[string]time.Time {
	stream := b.api.watch(pods(b.namespace))
	result := make(chan map[string]time.Time, 1)
	go func() {
		defer stream.Close()
		exits := map[string]time.Time{}
		for events := json.NewDecoder(stream); len(exits) < count; {
			var event struct {
				Object struct {
					Metadata struct{ Name string }
					Status   struct {
						ContainerStatuses []struct {
							Name  string
							State struct{ Terminated *struct{} }
						}
					}
				}
			}
			check(events.Decode(&event))
			for _, container := range event.Object.Status.ContainerStatuses {
				name := event.Object.Metadata.Name
				if _, known := exits[name]; !known && container.Name == "train" && container.State.Terminated != nil {
					exits[name] = time.Now()
				}
			}
		}
		result <- exits
	}()
	return result
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
