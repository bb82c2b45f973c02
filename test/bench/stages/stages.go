// Package stages says where the service's CPU time goes: it sorts the samples of a
// CPU profile by the stage of the way of a point in which they were taken.
//
// A sample belongs to the innermost function on its stack that opens a stage; what a
// stage calls, allocates or copies is its own. Only what the runtime does for all of
// them (collecting garbage, scheduling) is its own stage.
package stages

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Stage is a part of the way of a point through the service.
type Stage string

// The stages, in the order of the way.
const (
	HTTP      Stage = "http"      // receive, decompress, authenticate, answer
	Parse     Stage = "parse"     // from bytes to columns, with all checks
	Resolve   Stage = "resolve"   // find sources and series
	Encode    Stage = "encode"    // columns to records
	Produce   Stage = "produce"   // hand the records to the log's client, which sends them
	Log       Stage = "log"       // the embedded broker and the connections to it
	Fetch     Stage = "fetch"     // get records out of the log and list their spans
	Arrange   Stage = "arrange"   // sort the spans and decode them into columns
	Insert    Stage = "insert"    // the driver: columns to ClickHouse
	Collector Stage = "collector" // garbage collection
	Scheduler Stage = "scheduler" // of goroutines
	Rest      Stage = "rest"
)

// All are the stages.
var All = []Stage{HTTP, Parse, Resolve, Encode, Produce, Log, Fetch, Arrange, Insert, Collector, Scheduler, Rest}

const (
	ours    = "github.com/livegraph/livegraph/"
	franzGo = "github.com/twmb/franz-go/pkg/"
)

// opens are the functions that open stages, by what their names begin with. Of
// several that fit the longest counts.
var opens = map[string]Stage{
	"net/http.(*conn).":   HTTP,
	ours + "api/":         HTTP,
	ours + "api.":         HTTP,
	"net/http.(*Server).": HTTP,

	ours + "ingest/parse/":                Parse,
	ours + "ingest/resolve.":              Resolve,
	ours + "ingest/block.(*Batch).Encode": Encode,
	ours + "ingest.(*Pipeline).produce":   Produce,
	ours + "storage/kafka.(*Client).":     Produce,

	franzGo + "kgo.(*sink).":          Produce,
	franzGo + "kgo.(*recBuf).":        Produce,
	franzGo + "kgo.(*producer).":      Produce,
	franzGo + "kgo.(*produceRequest)": Produce,
	franzGo + "kgo.(*ProduceRequest)": Produce,
	franzGo + "kgo.":                  Log,
	franzGo + "kfake.":                Log,
	franzGo + "kgo.(*source).":        Fetch,
	franzGo + "kgo.(*cursor":          Fetch,
	franzGo + "kgo.(*consumer).":      Fetch,
	franzGo + "kgo.(*Client).Poll":    Fetch,
	ours + "storage/kafka.(*Group).":  Fetch,
	ours + "consumers.":               Fetch,

	ours + "consumers/points.(*batch).Add":     Fetch,
	ours + "consumers/points.(*batch).Prepare": Arrange,
	ours + "consumers/points.(*batch).Store":   Insert,
	ours + "storage/clickhouse.(*DB).Insert":   Insert,
	ours + "storage/clickhouse.(*DB).insert":   Insert,
	"net/http.(*persistConn).":                 Insert, // of the service's own requests, which are those of the driver
	"net/http.(*Transport).":                   Insert,

	"runtime.gcBgMarkWorker": Collector,
	"runtime.gcAssistAlloc":  Collector,
	"runtime.gcStart":        Collector,
	"runtime.bgsweep":        Collector,
	"runtime.bgscavenge":     Collector,
	"runtime.mcall":          Scheduler,
	"runtime.mstart":         Scheduler,
	"runtime.sysmon":         Scheduler,
}

// Read returns the CPU time of each stage in a profile as net/http/pprof writes it.
// All stages are there, some with 0.
func Read(r io.Reader) (map[Stage]time.Duration, error) {
	p, err := profile.Parse(r)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	return of(p)
}

func of(p *profile.Profile) (map[Stage]time.Duration, error) {
	cpu := -1
	for i, t := range p.SampleType {
		if t.Type == "cpu" && t.Unit == "nanoseconds" {
			cpu = i
		}
	}
	if cpu < 0 {
		return nil, fmt.Errorf("the profile is none of CPU time")
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

// stageOf looks from the innermost function outwards.
func stageOf(sample *profile.Sample) Stage {
	for _, location := range sample.Location {
		for _, line := range location.Line { // the innermost of those inlined first
			if line.Function == nil {
				continue
			}
			if stage := opened(line.Function.Name); stage != "" {
				return stage
			}
		}
	}
	return Rest
}

func opened(function string) (stage Stage) {
	longest := 0
	for prefix, s := range opens {
		if len(prefix) > longest && strings.HasPrefix(function, prefix) {
			longest, stage = len(prefix), s
		}
	}
	return stage
}
