// Package stages attributes the service's CPU time to the stages of the write path: it groups the
// samples of a CPU profile by stage.
//
// A sample belongs to the innermost function on its stack that starts a stage, so calls, allocations
// and copies count for the stage that makes them. Only runtime work for all of them (garbage
// collection, scheduling) is a stage of its own.
package stages

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Stage is a part of the write path.
type Stage string

// The stages, in the order of the write path.
const (
	HTTP      Stage = "http"      // receive, decompress, authenticate, answer
	Parse     Stage = "parse"     // from bytes to columns, with all validations
	Resolve   Stage = "resolve"   // find sources and series
	Encode    Stage = "encode"    // columns to records
	Produce   Stage = "produce"   // pass records to the Kafka client, which sends them
	Log       Stage = "log"       // the embedded broker and the connections to it
	Fetch     Stage = "fetch"     // fetch records from the log and list their spans
	Arrange   Stage = "arrange"   // sort the spans and decode them into columns
	Insert    Stage = "insert"    // the driver: columns to ClickHouse
	Collector Stage = "collector" // garbage collection
	Scheduler Stage = "scheduler" // of goroutines
	Other     Stage = "rest"
)

// All lists the stages.
var All = []Stage{HTTP, Parse, Resolve, Encode, Produce, Log, Fetch, Arrange, Insert, Collector, Scheduler, Other}

const (
	module  = "github.com/livegraph/livegraph/"
	franzGo = "github.com/twmb/franz-go/pkg/"
)

// stagePrefixes maps prefixes of function names to stages. The longest matching prefix applies.
var stagePrefixes = map[string]Stage{
	"net/http.(*conn).":   HTTP,
	module + "api/":       HTTP,
	module + "api.":       HTTP,
	"net/http.(*Server).": HTTP,

	module + "ingest/parse/":                Parse,
	module + "ingest/resolve.":              Resolve,
	module + "ingest/block.(*Batch).Encode": Encode,
	module + "ingest.(*Pipeline).produce":   Produce,
	module + "storage/kafka.(*Client).":     Produce,

	franzGo + "kgo.(*sink).":           Produce,
	franzGo + "kgo.(*recBuf).":         Produce,
	franzGo + "kgo.(*producer).":       Produce,
	franzGo + "kgo.(*produceRequest)":  Produce,
	franzGo + "kgo.(*ProduceRequest)":  Produce,
	franzGo + "kgo.":                   Log,
	franzGo + "kfake.":                 Log,
	franzGo + "kgo.(*source).":         Fetch,
	franzGo + "kgo.(*cursor":           Fetch,
	franzGo + "kgo.(*consumer).":       Fetch,
	franzGo + "kgo.(*Client).Poll":     Fetch,
	module + "storage/kafka.(*Group).": Fetch,
	module + "consumers.":              Fetch,

	module + "consumers/points.(*batch).Add":     Fetch,
	module + "consumers/points.(*batch).Prepare": Arrange,
	module + "consumers/points.(*batch).Store":   Insert,
	module + "storage/clickhouse.(*DB).Insert":   Insert,
	module + "storage/clickhouse.(*DB).insert":   Insert,
	"net/http.(*persistConn).":                   Insert, // of the driver's requests
	"net/http.(*Transport).":                     Insert,

	"runtime.gcBgMarkWorker": Collector,
	"runtime.gcAssistAlloc":  Collector,
	"runtime.gcStart":        Collector,
	"runtime.bgsweep":        Collector,
	"runtime.bgscavenge":     Collector,
	"runtime.mcall":          Scheduler,
	"runtime.mstart":         Scheduler,
	"runtime.sysmon":         Scheduler,
}

// Read returns the CPU time of each stage in a profile of net/http/pprof. It contains all stages, some
// with 0.
func Read(r io.Reader) (map[Stage]time.Duration, error) {
	p, err := profile.Parse(r)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	return sumStages(p)
}

// Below returns the CPU time in a profile of net/http/pprof of the functions whose names have a prefix, with
// all that they call, and the CPU time of the process.
func Below(r io.Reader, prefix string) (below, total time.Duration, err error) {
	p, err := profile.Parse(r)
	if err != nil {
		return 0, 0, fmt.Errorf("reading a profile: %w", err)
	}
	cpu, err := cpuColumn(p)
	if err != nil {
		return 0, 0, err
	}
	for _, sample := range p.Sample {
		took := time.Duration(sample.Value[cpu])
		total += took
		if hasFunction(sample, prefix) {
			below += took
		}
	}
	return below, total, nil
}

func hasFunction(sample *profile.Sample, prefix string) bool {
	return slices.ContainsFunc(sample.Location, func(l *profile.Location) bool {
		return slices.ContainsFunc(l.Line, func(line profile.Line) bool {
			return line.Function != nil && strings.HasPrefix(line.Function.Name, prefix)
		})
	})
}

// cpuColumn returns the index of the values that are CPU time.
func cpuColumn(p *profile.Profile) (int, error) {
	for i, t := range p.SampleType {
		if t.Type == "cpu" && t.Unit == "nanoseconds" {
			return i, nil
		}
	}
	return 0, errors.New("the profile is not a CPU profile")
}

func sumStages(p *profile.Profile) (map[Stage]time.Duration, error) {
	cpu, err := cpuColumn(p)
	if err != nil {
		return nil, err
	}
	times := map[Stage]time.Duration{}
	for _, stage := range All {
		times[stage] = 0
	}
	for _, sample := range p.Sample {
		times[stageOf(sample)] += time.Duration(sample.Value[cpu])
	}
	return times, nil
}

// stageOf searches from the innermost function outwards.
func stageOf(sample *profile.Sample) Stage {
	for _, location := range sample.Location {
		for _, line := range location.Line { // innermost inlined function first
			if line.Function == nil {
				continue
			}
			if stage := stageOfFunction(line.Function.Name); stage != "" {
				return stage
			}
		}
	}
	return Other
}

func stageOfFunction(function string) (stage Stage) {
	longest := 0
	for prefix, s := range stagePrefixes {
		if len(prefix) > longest && strings.HasPrefix(function, prefix) {
			longest, stage = len(prefix), s
		}
	}
	return stage
}
