// Command cluster measures trainmesh where it stands, on a real apiserver.
//
//	cluster admission   the webhook beside no webhook, a webhook that does nothing, and a policy of the apiserver's own
//	                    that writes the same; and straight at its port. All ways in one run and in turn, pod by pod, so
//	                    that whatever else the machine does meets all of them
//	cluster controller  from the end of a payload to the end of its proxy, on a real node and for many pods at once; and
//	                    what it costs to watch pods by the ten thousand
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
	// Servers are killed with the thread that started them: this one, which lasts as long as the run.
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
	flag.StringVar(&o.noop, "noop", "", "the webhook that does nothing")
	flag.StringVar(&o.config, "config", "", "trainmesh's configuration")
	flag.IntVar(&o.creates, "creates", 1000, "pods to create in each way")
	flag.IntVar(&o.starts, "starts", 10, "starts to time")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of load for each body")
	flag.DurationVar(&o.second, "round", 3*time.Second, "length of a round")
	flag.Parse()

	defer surroundings()()
	pair := makePair()
	defer os.RemoveAll(pair.folder)
	api := connect()
	world := &world{api: api, pair: pair}
	defer world.remove()
	world.register(o)

	measureCreates(api, world.ways, o.creates)
	measurePort(pair, world, o)
	measureStarts(pair, o)
	measureSize(o.trainmesh)
}

// surroundings prints what else decides the figures: now, and when the function that it returns is called.
func surroundings() func() {
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

// must ends the run where there is nothing left to measure. What was registered selects the run's own namespaces only.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
