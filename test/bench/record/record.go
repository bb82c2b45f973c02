// Package record is how a benchmark says what it measured: in the format of go test
// (golang.org/design/14313-benchmark-format), from which test/bench/report makes docs/benchmarks.md.
//
// A benchmark that measures many things in one long round takes a Recorder, adds
// samples by name, and saves them at the end; each is then its own line, such
// as "BenchmarkPipeline/visible  1  3260587 points/s".
package record

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Recorder takes what one benchmark measures.
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

// New returns the recorder of a benchmark that says all in one round: it is not
// meant to be repeated until it takes a second (-benchtime 1x).
func New(b *testing.B) *Recorder {
	b.Helper()
	if b.N > 1 {
		b.Skip("one round says it all: -benchtime 1x")
	}
	return &Recorder{b: b, samples: map[string][]sample{}, engines: map[string]string{}, out: os.Stdout}
}

// Add adds a sample. Its name may have parts, such as "points=10k/answer-p50"; of
// one name all samples have one unit. The report knows the units "points/s",
// "points", "commands/s", "commands", "requests", "requests/s", "cpu-ns/point", "B/point", "ms", "s",
// "h", "kB", "MiB", "ratio" and "%".
func (r *Recorder) Add(name, unit string, value float64) {
	if r.samples[name] == nil {
		r.names = append(r.names, name)
	}
	r.samples[name] = append(r.samples[name], sample{value, unit})
}

// Engines notes which versions took part, by the engines' names.
func (r *Recorder) Engines(versions map[string]string) { maps.Copy(r.engines, versions) }

// Say tells anyone who waits how far the benchmark is. Lines of go test that begin
// with two spaces are progress to the report.
func (r *Recorder) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, "  "+format+"\n", args...)
}

// Save prints what was recorded.
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
				b.ReportMetric(0, "ns/op") // leaves it out: it would be the time of this line
				b.ReportMetric(s.value, s.unit)
			})
		}
	}
}

// CPU returns the CPU time, user and system, that this process has used so far: what
// a busy machine does not change.
func CPU(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatalf("asking for the CPU time: %v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
