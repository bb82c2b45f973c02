package engine

import (
	"time"

	"github.com/livegraph/livegraph/internal/embedded/install"
)

// Event is the progress of an engine's start.
type Event struct {
	Engine  string        // "clickhouse", "postgres", …; "packages" for the installation of the stores' packages
	Phase   string        // "waiting", "installing", "starting", "ready", "failed"
	Percent int           // 0 to 100; -1: unknown
	Elapsed time.Duration // since this engine's first event
	Detail  string        // one line for the user; may be empty
}

// NewReport returns a function that sends the events of an engine to progress, which may
// be nil.
func NewReport(engine string, progress func(Event)) install.Report {
	start := time.Now()
	return func(phase string, percent int, detail string) {
		if progress != nil {
			progress(Event{Engine: engine, Phase: phase, Percent: percent, Elapsed: time.Since(start), Detail: detail})
		}
	}
}
