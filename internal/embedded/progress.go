package embedded

import "time"

// Event reports how far an engine's start is.
type Event struct {
	Engine  string        // "clickhouse", "postgres", …; "packages" for the installation of the stores'
	Phase   string        // "waiting", "installing", "starting", "ready", "failed"
	Percent int           // 0 to 100; -1: not known
	Elapsed time.Duration // since this engine's first event
	Detail  string        // one line for a person; may be empty
}

// reporter makes a function that sends an engine's events to progress, which may
// be nil.
func reporter(engine string, progress func(Event)) func(phase string, percent int, detail string) {
	began := time.Now()
	return func(phase string, percent int, detail string) {
		if progress != nil {
			progress(Event{Engine: engine, Phase: phase, Percent: percent, Elapsed: time.Since(began), Detail: detail})
		}
	}
}
