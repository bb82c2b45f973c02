// Package promengine parses PromQL and creates Prometheus' own engine, with the settings of the service. Queries of
// the API and rules use the same.
package promengine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	// MaxText is the maximum length of a query in bytes. The time of parsing grows with the square of the nesting.
	MaxText = 16 << 10
	// maxDepth is the maximum depth of the syntax tree of a query. The engine evaluates it recursively.
	maxDepth = 1000
	// lookback is how old the last sample of a series may be at the time of an evaluation.
	lookback = 5 * time.Minute
	// subqueryStep is the step of subqueries without one, the default evaluation interval of Prometheus.
	subqueryStep = time.Minute
)

// Parser parses PromQL without experimental functions, as Prometheus does by default. It does not bound queries.
var Parser = parser.NewParser(parser.Options{})

// Options are the limits of an engine.
type Options struct {
	MaxSamples int           // of a query in memory
	Timeout    time.Duration // of a query
	Logger     *slog.Logger
}

// New creates an engine.
func New(o Options) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger: o.Logger, MaxSamples: o.MaxSamples, Timeout: o.Timeout, LookbackDelta: lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return subqueryStep.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: Parser,
	})
}

// Parse parses a query within the limits of its length and depth. The message of the error is for the client.
func Parse(text string) (parser.Expr, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("must have at most %d bytes", MaxText)
	}
	expr, err := Parser.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	if depth(expr) > maxDepth {
		return nil, fmt.Errorf("must be nested at most %d deep", maxDepth)
	}
	return expr, nil
}

// Bounded is a Parser within the limits of Parse.
type Bounded struct{ parser.Parser }

// ParseExpr parses an expression.
func (Bounded) ParseExpr(text string) (parser.Expr, error) { return Parse(text) }

// depth returns the depth of a syntax tree.
func depth(root parser.Node) (deepest int) {
	type place struct {
		node  parser.Node
		depth int
	}
	for stack := []place{{root, 1}}; len(stack) > 0; {
		last := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		deepest = max(deepest, last.depth)
		for child := range parser.ChildrenIter(last.node) {
			stack = append(stack, place{child, last.depth + 1})
		}
	}
	return deepest
}
