package main

import (
	"fmt"
	"log"
	"slices"
	"time"
)

// Pods that may lie in a namespace before they are deleted: a list that grows would slow the later ones.
const atMost = 100

// measureCreates makes pods in all ways in turn, one client, one at a time, and prints what each way takes.
func measureCreates(api *apiserver, ways []way, count int) {
	pod := smallPod()
	took := make([][]time.Duration, len(ways))
	called := make([]int, len(ways))
	for index, way := range ways {
		called[index] = way.calls()
	}
	for number := range count {
		for turn := range ways {
			index := (number + turn) % len(ways)
			began := time.Now()
			must(api.ask("POST", pods(ways[index].namespace), pod))
			took[index] = append(took[index], time.Since(began))
		}
		if number%atMost == atMost-1 || number == count-1 {
			for _, way := range ways {
				must(api.ask("DELETE", pods(way.namespace)+"?gracePeriodSeconds=0", nil))
			}
		}
	}
	for index, way := range ways {
		if calls := way.calls() - called[index]; way.isCalled && calls < count {
			log.Panicf("%s: %d calls for %d pods", way.name, calls, count)
		}
	}
	fmt.Printf("| pod creation, %.1f KB, %d each | p50 ms | p99 ms | p50 added | p50 to no-op | added to no-op |\n", kb(pod), count)
	fmt.Println("|---|---|---|---|---|---|")
	none, noop := percentile(took[0], 50), percentile(took[1], 50)
	for index, way := range ways {
		p50, p99 := percentile(took[index], 50), percentile(took[index], 99)
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", way.name, ms(p50), ms(p99), ms(p50-none),
			ms(p50)/ms(noop), ms(p50-none)/ms(noop-none))
	}
	fmt.Println()
}

func percentile(times []time.Duration, of int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)*of/100, len(sorted)-1)]
}

func median[T int | float64 | time.Duration](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func kb(text []byte) float64 { return float64(len(text)) / 1000 }
