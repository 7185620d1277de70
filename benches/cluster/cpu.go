package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Number of programs in a table of CPU time.
const shown = 6

// usage is the CPU time of the machine since its start, in ticks.
type usage struct {
	busy, all float64
	programs  map[string]float64
}

func readUsage() usage {
	u := usage{programs: map[string]float64{}}
	line, _, _ := strings.Cut(string(must(os.ReadFile("/proc/stat"))), "\n")
	for number, field := range strings.Fields(line)[1:9] {
		var value float64
		must(fmt.Sscan(field, &value))
		u.all += value
		// The others wait: idle, or for a disk.
		if number != 3 && number != 4 {
			u.busy += value
		}
	}
	for _, path := range must(filepath.Glob("/proc/[0-9]*/stat")) {
		// The process may have ended since.
		text, _ := os.ReadFile(path)
		_, named, _ := strings.Cut(string(text), "(")
		name, rest, found := strings.Cut(named, ") ")
		if !found {
			continue
		}
		var user, system float64
		fields := strings.Fields(rest)
		must(fmt.Sscan(fields[11]+" "+fields[12], &user, &system))
		u.programs[name] += user + system
	}
	return u
}

// printSince prints the programs that used the CPU since `before`.
func (u usage) printSince(before usage) {
	type row struct {
		name  string
		ticks float64
	}
	var rows []row
	ended := u.busy - before.busy
	for name, ticks := range u.programs {
		if used := ticks - before.programs[name]; used > 0 {
			rows = append(rows, row{name, used})
			ended -= used
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.ticks, a.ticks) })
	all := u.all - before.all
	fmt.Printf("| CPU time meanwhile | share |\n|---|---|\n")
	for _, r := range rows[:min(shown, len(rows))] {
		fmt.Printf("| %s | %.0f %% |\n", r.name, 100*r.ticks/all)
		rows = rows[1:]
	}
	for _, r := range rows {
		ended += r.ticks
	}
	fmt.Printf("| other programs, and those that ended | %.0f %% |\n", 100*ended/all)
	fmt.Printf("| idle | %.0f %% |\n\n", 100-100*(u.busy-before.busy)/all)
}
