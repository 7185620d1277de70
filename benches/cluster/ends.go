package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Number of concurrent pods on the real node: few, so that they do not disturb each other.
const side = 5

// measureEnds runs real containers with a real Envoy. It uses containerd's timestamps of the main container's last line
// and of pilot-agent's line about the exit of Envoy, which are more precise than those of the kubelet.
func (b *bench) measureEnds() {
	controller := b.controller()
	defer controller.end()
	var took []time.Duration
	var lock sync.Mutex
	gate := make(chan struct{}, side)
	var group sync.WaitGroup
	for number := range b.ends {
		gate <- struct{}{}
		group.Go(func() {
			delay := b.end(fmt.Sprintf("real-%d", number))
			lock.Lock()
			took = append(took, delay)
			lock.Unlock()
			<-gate
		})
	}
	group.Wait()
	fmt.Printf("| main container exit to proxy exit, %d pods on a real node, %d at a time, settle 1 s | measured | target |\n|---|---|---|\n", b.ends, side)
	fmt.Printf("| p50, s | %.2f | 1.15 |\n| p99, s | %.2f | |\n\n", percentile(took, 50).Seconds(), percentile(took, 99).Seconds())
}

// end runs one pod to completion and returns the time from the exit of its main container to that of its proxy.
func (b *bench) end(name string) time.Duration {
	b.createReal(name, "sleep 2; echo done", nil)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		var pod struct{ Status struct{ Phase string } }
		check(json.Unmarshal(must(b.api.request("GET", b.pod(name), nil)), &pod))
		if pod.Status.Phase == "Succeeded" {
			break
		}
		if time.Since(began) > 2*time.Minute {
			panic(name + " does not complete")
		}
	}
	delay := b.exitDelay(name)
	must(b.api.request("DELETE", b.pod(name)+"?gracePeriodSeconds=0", nil))
	return delay
}

// createReal creates a pod on the real node, whose main container runs a script. It mounts each volume at its name.
func (b *bench) createReal(name, script string, volumes []object) {
	mounts := []object{}
	for _, volume := range volumes {
		mounts = append(mounts, object{"name": volume["name"], "mountPath": "/" + volume["name"].(string)})
	}
	b.api.create(pods(b.namespace), object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "labels": object{"bench": b.name},
			"annotations": object{"proxy.istio.io/config": "holdApplicationUntilProxyStarts: true", mark: marked}},
		"spec": object{"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "volumes": volumes,
			"containers": []object{{"name": "train", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
				"command": []string{"sh", "-c", script}, "volumeMounts": mounts}}}})
}

// exitDelay returns the time from the exit of a pod's main container to that of its proxy.
func (b *bench) exitDelay(name string) time.Duration {
	return b.lastLine(name, "istio-proxy", "Envoy exited normally").Sub(b.lastLine(name, "train", "done"))
}

// lastLine returns the time at which a container wrote a text.
func (b *bench) lastLine(pod, container, text string) time.Time {
	log := string(must(b.api.request("GET", b.pod(pod)+"/log?timestamps=true&container="+container, nil)))
	for line := range strings.Lines(log) {
		if stamp, rest, _ := strings.Cut(line, " "); strings.Contains(rest, text) {
			return must(time.Parse(time.RFC3339Nano, stamp))
		}
	}
	panic(pod + ": " + container + " did not write " + text + ": " + log)
}
