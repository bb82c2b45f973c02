package config

import "time"

// Lexical holds the settings of the consumer that maintains the text index of search, which
// role embeddings runs.
type Lexical struct {
	Group      string        `help:"Consumer group." default:"livegraph-lexical" env:"LIVEGRAPH_LEXICAL_GROUP"`
	BatchNodes int           `help:"Number of touched nodes at which a batch is written." default:"2000" env:"LIVEGRAPH_LEXICAL_BATCH_NODES"`
	BatchWait  time.Duration `help:"Maximum age of a batch before it is written, regardless of its size." default:"50ms" env:"LIVEGRAPH_LEXICAL_BATCH_WAIT"`
	FetchBytes int32         `help:"Maximum size of one fetch in bytes." default:"8388608" env:"LIVEGRAPH_LEXICAL_FETCH_BYTES"`
	FillEvery  time.Duration `help:"Interval between checks for workspaces whose text index lacks data that the log no longer contains. Such data is rebuilt from the graph." default:"10s" env:"LIVEGRAPH_LEXICAL_FILL_EVERY"`
}

func (l Lexical) validate(invalid func(setting, format string, args ...any)) {
	for _, s := range []struct {
		name  string
		value int64
	}{
		{"lexical-batch-nodes", int64(l.BatchNodes)}, {"lexical-batch-wait", int64(l.BatchWait)},
		{"lexical-fetch-bytes", int64(l.FetchBytes)}, {"lexical-fill-every", int64(l.FillEvery)},
	} {
		if s.value <= 0 {
			invalid(s.name, "must be above zero")
		}
	}
}
