package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	// The clock ticks in which Linux counts the time of a process.
	ticks = 100
	// How long a controller with nothing to do is watched.
	idle = 30 * time.Second
)

// measureMany lets a controller watch many pods that run and do nothing else. Their containers have few variables: those
// cost the apiserver and etcd, and are dropped by the controller unread.
func (b *bench) measureMany() {
	command(b.lab, "kwok", "start", "/dev/null", b.folder)
	defer command(b.lab, "kwok", "stop")
	const perNode = 1000
	defer b.makeNodes((b.pods + perNode - 1) / perNode)()
	each(b.pods, func(number int) {
		name := fmt.Sprintf("many-%d", number)
		b.makeFake(name, number/perNode, 4)
		b.tell(name, "Running", running(), running())
	})
	defer b.remove()

	controller := b.controller()
	defer controller.end()
	for controller.metric("trainmesh_pods") < float64(b.pods) {
		if time.Since(controller.began) > 5*time.Minute {
			panic("the pods are not all seen in five minutes")
		}
		time.Sleep(100 * time.Millisecond)
	}
	filled, busy := time.Since(controller.began), controller.cpu()
	began := time.Now()
	time.Sleep(idle)
	share := (controller.cpu() - busy).Seconds() / time.Since(began).Seconds()
	fmt.Printf("| %d pods that run | seen | aim |\n|---|---|---|\n", b.pods)
	fmt.Printf("| memory, MiB | %.0f | |\n| memory at most, MiB | %.0f | 150 |\n", controller.resident(), controller.memory())
	fmt.Printf("| memory for each pod beyond the first, KB | %.2f | 2.2 |\n", (controller.resident()-b.alone())*1024/float64(b.pods))
	fmt.Printf("| start until all are known, s | %.1f | |\n| of that on a processor, s | %.1f | |\n", filled.Seconds(), busy.Seconds())
	fmt.Printf("| idle, of one processor | %.2f %% | |\n\n", 100*share)
}

// alone is what a controller holds that sees no pod at all, in MiB.
func (b *bench) alone() float64 {
	text := must(os.ReadFile(b.config()))
	defer os.WriteFile(b.config(), text, 0o600)
	check(os.WriteFile(b.config(), []byte(strings.Replace(string(text), "bench=", "none=", 1)), 0o600))
	// Not through the lease, which is another's.
	p := b.start()
	defer p.end()
	return p.resident()
}

// cpu is the time that the process has used.
func (p *process) cpu() time.Duration {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	var user, system int64
	must(fmt.Sscan(fields[11], &user))
	must(fmt.Sscan(fields[12], &system))
	return time.Duration(user+system) * time.Second / ticks
}
