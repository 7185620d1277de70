package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	// Clock ticks per second in which Linux counts CPU time.
	ticks = 100
	// Time for which an idle controller is observed.
	idle = 30 * time.Second
)

// measureMany makes a controller watch many running pods without events. Their containers have few variables, which
// only cost the apiserver and etcd: the controller drops them unparsed.
func (b *bench) measureMany() {
	command(b.lab, "kwok", "start", "/dev/null", b.folder)
	defer command(b.lab, "kwok", "stop")
	const perNode = 1000
	defer b.makeNodes((b.pods + perNode - 1) / perNode)()
	each(b.pods, func(number int) {
		name := fmt.Sprintf("many-%d", number)
		b.makeFake(name, number/perNode, 4)
		b.setStatus(name, "Running", running(), running())
	})
	defer b.remove()

	controller := b.controller()
	defer controller.end()
	for controller.metric("trainmesh_pods") < float64(b.pods) {
		if time.Since(controller.began) > 5*time.Minute {
			panic("not all pods were cached within five minutes")
		}
		time.Sleep(100 * time.Millisecond)
	}
	filled, busy := time.Since(controller.began), controller.cpu()
	began := time.Now()
	time.Sleep(idle)
	share := (controller.cpu() - busy).Seconds() / time.Since(began).Seconds()
	fmt.Printf("| %d running pods | measured | target |\n|---|---|---|\n", b.pods)
	fmt.Printf("| memory, MiB | %.0f | |\n| peak memory, MiB | %.0f | 150 |\n", controller.resident(), controller.memory())
	fmt.Printf("| memory for each pod beyond the first, KB | %.2f | 2.2 |\n", (controller.resident()-b.baseline())*1024/float64(b.pods))
	fmt.Printf("| start until all are cached, s | %.1f | |\n| of that CPU time, s | %.1f | |\n", filled.Seconds(), busy.Seconds())
	fmt.Printf("| idle, of one CPU | %.2f %% | |\n\n", 100*share)
}

// baseline returns the memory of a controller without any pod, in MiB.
func (b *bench) baseline() float64 {
	text := must(os.ReadFile(b.config()))
	defer os.WriteFile(b.config(), text, 0o600)
	check(os.WriteFile(b.config(), []byte(strings.Replace(string(text), "bench=", "none=", 1)), 0o600))
	// Not through the lease, which another controller holds.
	p := b.start()
	defer p.end()
	return p.resident()
}

// cpu returns the CPU time of the process.
func (p *process) cpu() time.Duration {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	var user, system int64
	must(fmt.Sscan(fields[11], &user))
	must(fmt.Sscan(fields[12], &system))
	return time.Duration(user+system) * time.Second / ticks
}
