package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Name of the program that an exec in a fake pod runs on this machine.
const quitter = "pilot-agent"

type controllerOptions struct {
	trainmesh, agent, lab string
	ends, together        int
	burst, pods           int
}

// bench is one run: a namespace, a directory, and a controller that sees only the pods of this run.
type bench struct {
	controllerOptions
	api                     *apiserver
	namespace, folder, name string
}

func runController() {
	var b bench
	flag.StringVar(&b.trainmesh, "trainmesh", "", "the binary to measure")
	flag.StringVar(&b.agent, "agent", "", "the program that an exec in a fake pod runs")
	flag.StringVar(&b.lab, "lab", "", "the command that manages the cluster")
	flag.IntVar(&b.ends, "ends", 100, "pods to complete on the real node")
	flag.IntVar(&b.together, "together", 30, "pods of the real node to complete at once")
	flag.IntVar(&b.burst, "burst", 1000, "fake pods that terminate at once")
	flag.IntVar(&b.pods, "pods", 50_000, "fake pods to watch")
	flag.Parse()

	defer conditions()()
	b.api = connect()
	b.name = fmt.Sprintf("bench-%x", time.Now().UnixMilli())
	b.namespace = b.name
	b.folder = must(os.MkdirTemp("", "trainmesh-bench-"))
	defer os.RemoveAll(b.folder)
	config := object{"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration",
		"termination": object{"podSelector": "bench=" + b.name}}
	check(os.WriteFile(b.config(), must(json.Marshal(config)), 0o600))
	// The controller ignores its own namespace.
	for name, labels := range map[string]object{
		b.namespace: {"trainmesh.dev/inject": "enabled", "istio-injection": "enabled"},
		b.home():    {},
	} {
		b.api.create("/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace",
			"metadata": object{"name": name, "labels": labels}})
		defer b.api.request("DELETE", "/api/v1/namespaces/"+name, nil)
	}
	b.api.awaitAccount(b.namespace)

	if b.ends > 0 || b.together > 0 {
		command(b.lab, "mesh", "start")
	}
	if b.ends > 0 {
		b.measureEnds()
	}
	if b.together > 0 {
		b.measureTogether()
	}
	if b.burst > 0 {
		b.measureBurst()
	}
	if b.pods > 0 {
		b.measureMany()
	}
}

// home is the namespace of the controller.
func (b *bench) home() string { return b.name + "-home" }

func (b *bench) config() string { return filepath.Join(b.folder, "config.yaml") }

func (b *bench) pod(name string) string { return pods(b.namespace) + "/" + name }

// controller starts a controller and waits until it leads.
func (b *bench) controller() *process {
	p := b.start()
	for p.metric("trainmesh_leader") != 1 {
		if time.Since(p.began) > time.Minute {
			panic("no leadership after a minute")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return p
}

// start starts a controller and waits until it is ready.
func (b *bench) start() *process {
	p := start(nil, nil, b.trainmesh, "controller", "--admin-listen", "127.0.0.1:0", "--namespace", b.home(),
		"--config", b.config(), "--log-format", "json", "--log-level", "warn,trainmesh::listening=info")
	p.ready()
	return p
}

// metric sums the series of a metric whose labels contain all these texts.
func (p *process) metric(name string, labels ...string) (sum float64) {
	answer := must(http.Get("http://" + p.admin + "/metrics"))
	defer answer.Body.Close()
	for line := range strings.Lines(readAll(answer.Body)) {
		series, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if family, _, _ := strings.Cut(series, "{"); !found || family != name {
			continue
		}
		matches := true
		for _, label := range labels {
			matches = matches && strings.Contains(series, label)
		}
		if matches {
			var number float64
			must(fmt.Sscan(value, &number))
			sum += number
		}
	}
	return sum
}
