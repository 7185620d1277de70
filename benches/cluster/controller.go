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

// An exec in a fake pod runs the program of this name on this machine.
const quitter = "pilot-agent"

type controllerOptions struct {
	trainmesh, agent, lab string
	ends, burst, pods     int
}

// bench is one run: a namespace, a folder, and a controller that sees the pods of this run alone.
type bench struct {
	controllerOptions
	api                     *apiserver
	namespace, folder, name string
}

func runController() {
	var b bench
	flag.StringVar(&b.trainmesh, "trainmesh", "", "the binary to measure")
	flag.StringVar(&b.agent, "agent", "", "what an exec in a fake pod runs")
	flag.StringVar(&b.lab, "lab", "", "the command that owns the cluster")
	flag.IntVar(&b.ends, "ends", 100, "pods to end on the real node")
	flag.IntVar(&b.burst, "burst", 1000, "fake pods that end at once")
	flag.IntVar(&b.pods, "pods", 50_000, "fake pods to watch")
	flag.Parse()

	defer surroundings()()
	b.api = connect()
	b.name = fmt.Sprintf("bench-%x", time.Now().UnixMilli())
	b.namespace = b.name
	b.folder = must(os.MkdirTemp("", "trainmesh-bench-"))
	defer os.RemoveAll(b.folder)
	config := object{"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration",
		"termination": object{"podSelector": "bench=" + b.name}}
	check(os.WriteFile(b.config(), must(json.Marshal(config)), 0o600))
	// The controller leaves its own namespace alone.
	for name, labels := range map[string]object{
		b.namespace: {"trainmesh.dev/inject": "enabled", "istio-injection": "enabled"},
		b.home():    {},
	} {
		b.api.create("/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace",
			"metadata": object{"name": name, "labels": labels}})
		defer b.api.ask("DELETE", "/api/v1/namespaces/"+name, nil)
	}
	b.api.awaitAccount(b.namespace)

	if b.ends > 0 {
		b.measureEnds()
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

// controller starts one and waits until it leads.
func (b *bench) controller() *process {
	p := b.start()
	for p.metric("trainmesh_leader") != 1 {
		if time.Since(p.began) > time.Minute {
			panic("it does not lead after a minute")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return p
}

// start starts one and waits until it is ready.
func (b *bench) start() *process {
	p := start(nil, nil, b.trainmesh, "controller", "--admin-listen", "127.0.0.1:0", "--namespace", b.home(),
		"--config", b.config(), "--log-format", "json", "--log-level", "warn,trainmesh::listening=info")
	p.ready()
	return p
}

// metric is the sum of the series of a metric whose labels hold all these texts.
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
