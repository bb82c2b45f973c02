// Package record prints the measurements of a benchmark in the format of go test
// (golang.org/design/14313-benchmark-format), from which test/bench/report generates
// docs/benchmarks.md.
//
// A benchmark that measures many values in one long round creates a Recorder, adds samples by name,
// and saves them at the end. Each sample is then a line of its own, such as "BenchmarkPipeline/visible
// 1  3260587 points/s".
package record

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Recorder collects the measurements of one benchmark.
type Recorder struct {
	b       *testing.B
	names   []string // in the order of the first samples
	samples map[string][]sample
	engines map[string]string
	out     io.Writer
}

type sample struct {
	value float64
	unit  string
}

// New returns the recorder of a benchmark. It skips a benchmark with more than one round, because one
// round measures everything (-benchtime 1x).
func New(b *testing.B) *Recorder {
	b.Helper()
	if b.N > 1 {
		b.Skip("one round measures everything: use -benchtime 1x")
	}
	return &Recorder{b: b, samples: map[string][]sample{}, engines: map[string]string{}, out: os.Stdout}
}

// Add adds a sample. Its name may have parts, such as "points=10k/answer-p50"; all samples of a name
// must have the same unit. The report supports the units "points/s", "points", "commands/s",
// "commands", "requests", "requests/s", "texts", "cpu-ns/point", "B/point", "ms", "s", "h", "kB",
// "MiB", "ratio" and "%".
func (r *Recorder) Add(name, unit string, value float64) {
	if r.samples[name] == nil {
		r.names = append(r.names, name)
	}
	r.samples[name] = append(r.samples[name], sample{value, unit})
}

// Engines records the versions of engines, by their names.
func (r *Recorder) Engines(versions map[string]string) { maps.Copy(r.engines, versions) }

// Logf prints the progress of the benchmark. The report prints lines of go test that begin with two
// spaces.
func (r *Recorder) Logf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, "  "+format+"\n", args...)
}

// Save prints the samples.
func (r *Recorder) Save() {
	if len(r.engines) > 0 {
		list := make([]string, 0, len(r.engines))
		for _, name := range slices.Sorted(maps.Keys(r.engines)) {
			list = append(list, name+" "+r.engines[name])
		}
		_, _ = fmt.Fprintln(r.out, "engines: "+strings.Join(list, ", "))
	}
	for _, name := range r.names {
		for _, s := range r.samples[name] {
			r.b.Run(name, func(b *testing.B) {
				b.ReportMetric(0, "ns/op") // omits the time of this line
				b.ReportMetric(s.value, s.unit)
			})
		}
	}
}

// CPU returns the CPU time, user and system, of this process. It does not depend on the load of the
// machine.
func CPU(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatalf("reading the CPU time: %v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// shareVariable is the environment variable that scales long benchmarks for trial runs: 0.01 is a
// hundredth.
const shareVariable = "LIVEGRAPH_BENCH_SHARE"

// Share returns the part of a long benchmark that is to be run, above 0 and at most 1.
func Share(tb testing.TB) float64 {
	tb.Helper()
	text := os.Getenv(shareVariable)
	if text == "" {
		return 1
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value > 0 && value <= 1) {
		tb.Fatalf("%s must be a number above 0 and at most 1, not %q", shareVariable, text)
	}
	return value
}
