package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os/exec"
	"time"
)

// The webhook skips pods with this annotation; without it the controller would process them once more.
const mark, marked = "trainmesh.dev/applied", "mesh.hold"

// makeNodes creates nodes that kwok manages, and returns a function that removes them.
func (b *bench) makeNodes(count int) func() {
	for number := range count {
		b.api.create("/api/v1/nodes", object{"apiVersion": "v1", "kind": "Node",
			"metadata": object{"name": b.node(number), "labels": object{"type": "kwok"}},
			// Only pods that name the node are scheduled to it.
			"spec": object{"taints": []object{{"key": "fake", "effect": "NoSchedule"}}}})
	}
	return func() {
		for number := range count {
			must(b.api.request("DELETE", "/api/v1/nodes/"+b.node(number), nil))
		}
	}
}

func (b *bench) node(number int) string { return fmt.Sprintf("%s-%d", b.name, number) }

// makeFake creates a pod as the injector would leave it, on a fake node; its containers have this many variables.
func (b *bench) makeFake(name string, node, variables int) {
	pod := injected(variables)
	metadata, spec := pod["metadata"].(object), pod["spec"].(object)
	delete(metadata, "generateName")
	metadata["name"] = name
	labels := metadata["labels"].(object)
	labels["bench"], labels["service.istio.io/canonical-name"] = b.name, "llama"
	// The injector of the test mesh skips it.
	labels["sidecar.istio.io/inject"] = "false"
	metadata["annotations"].(object)[mark] = marked
	delete(spec, "schedulerName")
	spec["nodeName"], spec["tolerations"] = b.node(node), []object{{"operator": "Exists"}}
	b.api.create(pods(b.namespace), pod)
}

// setStatus writes the status of a pod as its kubelet would.
func (b *bench) setStatus(name, phase string, main, proxy object) {
	status := func(container string, state object) object {
		return object{"name": container, "image": "images.test/" + container, "imageID": "", "ready": state["running"] != nil,
			"containerID": "fake://" + name + "/" + container, "restartCount": 0, "state": state}
	}
	patch := object{"status": object{"phase": phase, "containerStatuses": []object{
		status("pytorch", main), status("istio-proxy", proxy)}}}
	must(b.api.request("PATCH", b.pod(name)+"/status", must(json.Marshal(patch))))
}

func running() object {
	return object{"running": object{"startedAt": time.Now().UTC().Format(time.RFC3339)}}
}

func ended(at time.Time) object {
	return object{"terminated": object{"exitCode": 0, "reason": "Completed", "finishedAt": at.UTC().Format(time.RFC3339)}}
}

// remove deletes all pods of the run at once, because no kubelet would complete their deletion.
func (b *bench) remove() {
	must(b.api.request("DELETE", pods(b.namespace)+"?gracePeriodSeconds=0", nil))
}

func command(program string, arguments ...string) {
	if output, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		log.Panicf("%s %v: %v: %s", program, arguments, err, output)
	}
}

func readAll(reader io.Reader) string { return string(must(io.ReadAll(reader))) }
