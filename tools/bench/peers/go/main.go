// SPDX-License-Identifier: MIT

// The suites of drover-bench over Go's sync.Cond, for reference: goroutines
// are no threads of the kernel, and most of their hand-offs never reach it.
//
// Command lines and results are those of the programs in C, as far as they
// are offered here.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options of all suites; each takes those that it knows.
type options struct {
	n, r, i, p, c, q int
	keep             bool
}

// sample is what the process has used until now.
type sample struct {
	wall     time.Time
	cpu      float64
	switches [2]int64 // voluntary, involuntary
}

func seconds(tv syscall.Timeval) float64 {
	return float64(tv.Sec) + float64(tv.Usec)*1e-6
}

func sampleNow() sample {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return sample{time.Now(), seconds(u.Utime) + seconds(u.Stime),
		[2]int64{u.Nvcsw, u.Nivcsw}}
}

// suite runs one benchmark; measured is called around the part that counts.
// It returns the number of operations and members of the result of its own.
type suite struct {
	switchesKey string
	run         func(o options, measured func(func())) (int, map[string]any)
}

var suites = map[string]suite{
	"cond-perf": {"switches_per_waiter_round", condPerf},
	"pp":        {"switches_per_handoff", pp},
	"broadcast": {"switches_per_waiter_round", broadcast},
	"queue":     {"switches_per_item", queue},
	"turn-ring": {"switches_per_turn", turnRing},
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "drover-bench-go: "+format+"\n", args...)
	os.Exit(2)
}

func parse(name string, words []string) options {
	var o options
	var impl string
	set := flag.NewFlagSet(name, flag.ExitOnError)
	for letter, value := range map[string]*int{"n": &o.n, "r": &o.r,
		"i": &o.i, "p": &o.p, "c": &o.c, "q": &o.q} {
		set.IntVar(value, letter, 0, "as in drover-bench "+name)
	}
	set.BoolVar(&o.keep, "k", false, "as in drover-bench "+name)
	set.Bool("v", false, "nothing more to say")
	set.Bool("json", true, "print one JSON object, always")
	set.Int("S", 0, "goroutines have no stack of a fixed size")
	set.StringVar(&impl, "impl", "go", "go")
	set.Parse(words)
	if set.NArg() > 0 || impl != "go" || o.n < 0 || o.r < 0 || o.i < 0 {
		fail("%s: not possible: %s", name, strings.Join(words, " "))
	}
	return o
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return "Linux " + strings.TrimSpace(string(release))
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: drover-bench-go SUITE [option]...")
	}
	name := os.Args[1]
	chosen, known := suites[name]
	if !known {
		fail("'%s' is not offered in Go", name)
	}
	var begin, end sample
	operations, result := chosen.run(parse(name, os.Args[2:]),
		func(part func()) {
			begin = sampleNow()
			part()
			end = sampleNow()
		})
	wall := end.wall.Sub(begin.wall).Seconds()
	voluntary := end.switches[0] - begin.switches[0]
	involuntary := end.switches[1] - begin.switches[1]
	for key, value := range map[string]any{
		"bench": name, "impl": "go", "library": "linked statically",
		"version": runtime.Version(), "kernel": kernel(),
		"cpus": runtime.NumCPU(), "stack": 0, "seconds": wall,
		"cpu_seconds":          end.cpu - begin.cpu,
		"voluntary_switches":   voluntary,
		"involuntary_switches": involuntary, "operations": operations,
		chosen.switchesKey: float64(voluntary+involuntary) /
			float64(operations),
		"ns_per_operation": wall * 1e9 / float64(operations),
		"spurious":         0, "futile": 0,
	} {
		result[key] = value
	}
	json.NewEncoder(os.Stdout).Encode(result)
}
