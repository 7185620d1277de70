// Command cluster measures trainmesh with a real apiserver.
//
//	cluster admission   the webhook compared with no webhook, a no-op webhook, and a policy of the apiserver that writes
//	                    the same fields; and the webhook's port under direct load. All variants run interleaved, pod by
//	                    pod, so that other load on the machine affects all of them
//	cluster controller  the time from the exit of the main container to that of the proxy, on a real node and for many pods
//	                    at once; and the cost of watching tens of thousands of pods
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"time"
)

type options struct {
	trainmesh, noop, config string
	creates, starts, rounds int
	second                  time.Duration
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	if len(os.Args) < 2 {
		log.Fatal("usage: cluster admission|controller [FLAGS…]")
	}
	// Servers are killed with the thread that started them: this one, which lives as long as the run.
	runtime.LockOSThread()
	command, arguments := os.Args[1], os.Args[2:]
	os.Args = append([]string{command}, arguments...)
	switch command {
	case "admission":
		runAdmission()
	case "controller":
		runController()
	case "load":
		runLoad(arguments)
	default:
		log.Fatalf("unknown command %q", command)
	}
}

func runAdmission() {
	var o options
	flag.StringVar(&o.trainmesh, "trainmesh", "", "the binary to measure")
	flag.StringVar(&o.noop, "noop", "", "the no-op webhook")
	flag.StringVar(&o.config, "config", "", "trainmesh's configuration")
	flag.IntVar(&o.creates, "creates", 1000, "pods to create in each variant")
	flag.IntVar(&o.starts, "starts", 10, "starts to time")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of load for each body")
	flag.DurationVar(&o.second, "round", 3*time.Second, "length of a round")
	flag.Parse()

	defer conditions()()
	pair := makePair()
	defer os.RemoveAll(pair.folder)
	api := connect()
	env := &environment{api: api, pair: pair}
	defer env.remove()
	env.setUp(o)

	measureCreates(api, env.variants, o.creates)
	measurePort(pair, env, o)
	measureStarts(pair, o)
	measureSize(o.trainmesh)
}

// conditions prints the load of the machine: now, and when the returned function is called.
func conditions() func() {
	began := time.Now()
	fmt.Printf("%d cores, load average before: %s\n\n", runtime.NumCPU(), loadAverage())
	return func() {
		fmt.Printf("\nload average after: %s; took %s\n", loadAverage(), time.Since(began).Round(time.Second))
	}
}

func loadAverage() string {
	text := must(os.ReadFile("/proc/loadavg"))
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// must panics on an error: there is nothing left to measure. The webhook configurations match only the run's own
// namespaces.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
