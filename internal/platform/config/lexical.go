package config

import "time"

// Lexical holds the settings of the consumer that maintains the text index of search, which
// role embeddings runs.
type Lexical struct {
	Group      string        `help:"Consumer group." default:"livegraph-lexical" env:"LIVEGRAPH_LEXICAL_GROUP"`
	BatchNodes int           `help:"Touched nodes after which a batch is written." default:"2000" env:"LIVEGRAPH_LEXICAL_BATCH_NODES"`
	BatchWait  time.Duration `help:"Age at which a batch is written however small it is." default:"50ms" env:"LIVEGRAPH_LEXICAL_BATCH_WAIT"`
	FetchBytes int32         `help:"Most bytes of one fetch." default:"8388608" env:"LIVEGRAPH_LEXICAL_FETCH_BYTES"`
	FillEvery  time.Duration `help:"How often it is looked whether the text lane of a workspace lacks something that the log does not have any more; it is made from the graph then." default:"10s" env:"LIVEGRAPH_LEXICAL_FILL_EVERY"`
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
