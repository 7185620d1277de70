package main

import (
	"fmt"
	"log"
	"slices"
	"time"
)

// Maximum number of pods in a namespace before they are deleted: a growing list would slow later creations.
const atMost = 100

// measureCreates creates pods in all variants in turn, with one client, one at a time, and prints the latency of each.
func measureCreates(api *apiserver, variants []variant, count int) {
	pod := smallPod()
	took := make([][]time.Duration, len(variants))
	called := make([]int, len(variants))
	for index, variant := range variants {
		called[index] = variant.calls()
	}
	for number := range count {
		for turn := range variants {
			index := (number + turn) % len(variants)
			began := time.Now()
			must(api.request("POST", pods(variants[index].namespace), pod))
			took[index] = append(took[index], time.Since(began))
		}
		if number%atMost == atMost-1 || number == count-1 {
			for _, variant := range variants {
				must(api.request("DELETE", pods(variant.namespace)+"?gracePeriodSeconds=0", nil))
			}
		}
	}
	for index, variant := range variants {
		if calls := variant.calls() - called[index]; variant.isCalled && calls < count {
			log.Panicf("%s: %d calls for %d pods", variant.name, calls, count)
		}
	}
	fmt.Printf("| pod creation, %.1f KB, %d each | p50 ms | p99 ms | p50 added | p50 to no-op | added to no-op |\n", kb(pod), count)
	fmt.Println("|---|---|---|---|---|---|")
	none, noop := percentile(took[0], 50), percentile(took[1], 50)
	for index, variant := range variants {
		p50, p99 := percentile(took[index], 50), percentile(took[index], 99)
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", variant.name, ms(p50), ms(p99), ms(p50-none),
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
