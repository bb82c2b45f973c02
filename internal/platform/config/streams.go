package config

// Streams holds the limits of point streams.
type Streams struct {
	Max             int   `help:"Maximum number of open point streams of this process. Above it, requests are answered 503." default:"1000" env:"LIVEGRAPH_STREAMS_MAX"`
	MaxPerWorkspace int   `help:"Maximum number of open point streams of one workspace in this process." default:"100" env:"LIVEGRAPH_STREAMS_MAX_PER_WORKSPACE"`
	MaxPerKey       int   `help:"Maximum number of open point streams of one key in this process." default:"50" env:"LIVEGRAPH_STREAMS_MAX_PER_KEY"`
	BufferedBytes   int64 `help:"Maximum total size, in bytes, of the points that wait for the readers of streams. The slowest readers are disconnected before it is reached." default:"67108864" env:"LIVEGRAPH_STREAMS_BUFFERED_BYTES"`
	ReplayRecords   int64 `help:"Maximum number of log records that are read again for a stream that resumes." default:"1000000" env:"LIVEGRAPH_STREAMS_REPLAY_RECORDS"`
}

func (s *Streams) validate(invalid func(setting, format string, args ...any)) {
	for _, limit := range []struct {
		setting string
		value   int64
	}{
		{"streams-max", int64(s.Max)}, {"streams-max-per-workspace", int64(s.MaxPerWorkspace)},
		{"streams-max-per-key", int64(s.MaxPerKey)},
		{"streams-buffered-bytes", s.BufferedBytes}, {"streams-replay-records", s.ReplayRecords},
	} {
		if limit.value <= 0 {
			invalid(limit.setting, "must be above zero")
		}
	}
}
