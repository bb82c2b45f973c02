package config

import (
	"math"
	"time"
)

// Analyses holds the limits of analyses of graphs, which role rules runs, one at a time in a process.
type Analyses struct {
	MaxNodes int           `help:"Maximum number of nodes that an analysis of a graph reads. An analysis needs about 100 bytes of memory for each." default:"1000000" env:"LIVEGRAPH_ANALYSES_MAX_NODES"`
	MaxEdges int           `help:"Maximum number of edges that an analysis of a graph reads. An analysis needs about 50 bytes of memory for each." default:"10000000" env:"LIVEGRAPH_ANALYSES_MAX_EDGES"`
	Timeout  time.Duration `help:"Maximum duration of an analysis of a graph, including the writing of its results." default:"30m" env:"LIVEGRAPH_ANALYSES_TIMEOUT"`
}

// maxAnalysisSize is the largest limit: edges are counted in both directions with 32 bits.
const maxAnalysisSize = math.MaxInt32 / 2

func (a *Analyses) validate(invalid func(setting, format string, args ...any)) {
	if a.MaxNodes < 1 || a.MaxNodes > maxAnalysisSize {
		invalid("analyses-max-nodes", "must be from 1 to %d", maxAnalysisSize)
	}
	if a.MaxEdges < 1 || a.MaxEdges > maxAnalysisSize {
		invalid("analyses-max-edges", "must be from 1 to %d", maxAnalysisSize)
	}
	if a.Timeout < time.Second || a.Timeout > 24*time.Hour {
		invalid("analyses-timeout", "must be from 1s to 24h")
	}
}
