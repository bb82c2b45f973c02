// Package analysis computes measures of whole graphs: degrees, PageRank, connected components and communities.
//
// It does no I/O. A [Builder] numbers the nodes of a graph from 0 and keeps its edges as pairs of 32-bit numbers, so
// that a graph of a million nodes and ten million edges needs about 100 MB, and twice to four times as much while it is
// computed with. All results are deterministic: they depend on the graph and the order in which its nodes and edges
// were added, and not on time, chance or the number of processors.
package analysis

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Limits bound the size of a graph.
type Limits struct {
	Nodes int
	Edges int
}

// LimitError reports that a graph is larger than its limits.
type LimitError struct {
	What  string // nodes or edges
	Limit int
}

// Error returns the text of the error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the graph has more than %d %s", e.Limit, e.What)
}

// errOrder reports that nodes were not added by ascending id.
var errOrder = errors.New("the nodes of a graph must be added by ascending id")

// Graph is a directed multigraph in memory. Its nodes are numbered from 0 by ascending id.
type Graph struct {
	IDs     []uuid.UUID
	sources []int32 // of each edge
	targets []int32
	weights []float64 // nil: all are 1
}

// Nodes returns the number of nodes.
func (g *Graph) Nodes() int { return len(g.IDs) }

// Edges returns the number of edges.
func (g *Graph) Edges() int { return len(g.sources) }

// weight returns the weight of an edge.
func (g *Graph) weight(edge int) float64 {
	if g.weights == nil {
		return 1
	}
	return g.weights[edge]
}

// Builder builds a Graph.
type Builder struct {
	graph    Graph
	limits   Limits
	weighted bool
}

// NewBuilder creates a Builder of a graph. If weighted is false, all edges have weight 1.
func NewBuilder(limits Limits, weighted bool) *Builder {
	return &Builder{limits: limits, weighted: weighted}
}

// Reserve reserves memory for up to the number of nodes and edges. Otherwise it grows with them, and is copied.
func (b *Builder) Reserve(nodes, edges int64) {
	n, e := int(min(nodes, int64(b.limits.Nodes))), int(min(edges, int64(b.limits.Edges)))
	b.graph.IDs = slices.Grow(b.graph.IDs, n)
	b.graph.sources, b.graph.targets = slices.Grow(b.graph.sources, e), slices.Grow(b.graph.targets, e)
	if b.weighted {
		b.graph.weights = slices.Grow(b.graph.weights, e)
	}
}

// AddNode adds a node, which must have a higher id than the one before. The error is a LimitError if there are too
// many.
func (b *Builder) AddNode(id uuid.UUID) error {
	ids := b.graph.IDs
	if len(ids) >= b.limits.Nodes {
		return &LimitError{What: "nodes", Limit: b.limits.Nodes}
	}
	if len(ids) > 0 && bytes.Compare(ids[len(ids)-1][:], id[:]) >= 0 {
		return errOrder
	}
	b.graph.IDs = append(b.graph.IDs, id)
	return nil
}

// AddEdge adds an edge, unless an end of it is not among the nodes. All nodes must have been added before. The weight
// must be one that ParseWeight returns. AddEdge reports whether the edge was added. The error is a LimitError if there
// are too many edges.
func (b *Builder) AddEdge(source, target uuid.UUID, weight float64) (added bool, err error) {
	g := &b.graph
	from, found := g.index(source)
	if !found {
		return false, nil
	}
	to, found := g.index(target)
	if !found {
		return false, nil
	}
	if len(g.sources) >= b.limits.Edges {
		return false, &LimitError{What: "edges", Limit: b.limits.Edges}
	}
	g.sources, g.targets = append(g.sources, from), append(g.targets, to)
	if b.weighted {
		g.weights = append(g.weights, weight)
	}
	return true, nil
}

// Graph returns the graph. The Builder must not be used afterwards.
func (b *Builder) Graph() *Graph { return &b.graph }

// index returns the number of a node. Ids are compared as two integers, because most of the time for building a graph
// is spent here.
func (g *Graph) index(id uuid.UUID) (int32, bool) {
	high, low := halves(&id)
	first, end := 0, len(g.IDs)
	for first < end {
		middle := int(uint(first+end) >> 1)
		switch h, l := halves(&g.IDs[middle]); {
		case h < high || h == high && l < low:
			first = middle + 1
		case h == high && l == low:
			return int32(middle), true
		default:
			end = middle
		}
	}
	return 0, false
}

func halves(id *uuid.UUID) (high, low uint64) {
	return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
}

// Direction selects the edges of a node.
type Direction string

// The directions.
const (
	Out  Direction = "out"
	In   Direction = "in"
	Both Direction = "both"
)

// adjacency has the neighbors of each node in compressed rows: those of node n, and the weights of the edges to them,
// are from offsets[n] to offsets[n+1].
type adjacency struct {
	offsets   []int32
	neighbors []int32
	weights   []float64 // nil: all are 1
}

// row returns the range of a node.
func (a *adjacency) row(node int) (from, to int32) { return a.offsets[node], a.offsets[node+1] }

func (a *adjacency) weight(i int32) float64 {
	if a.weights == nil {
		return 1
	}
	return a.weights[i]
}

// each calls visit for both ends of the edges in a direction: a node, its neighbor and the edge. A self-loop is visited
// once for each of the two directions.
func (g *Graph) each(direction Direction, visit func(node, neighbor int32, edge int)) {
	for i, source := range g.sources {
		if direction != In {
			visit(source, g.targets[i], i)
		}
		if direction != Out {
			visit(g.targets[i], source, i)
		}
	}
}

// adjacency returns the neighbors of all nodes in a direction.
func (g *Graph) adjacency(direction Direction) *adjacency {
	a := &adjacency{offsets: make([]int32, g.Nodes()+1)}
	g.each(direction, func(node, _ int32, _ int) { a.offsets[node+1]++ })
	for i := range g.Nodes() {
		a.offsets[i+1] += a.offsets[i]
	}
	a.neighbors = make([]int32, a.offsets[g.Nodes()])
	if g.weights != nil {
		a.weights = make([]float64, len(a.neighbors))
	}
	next := slices.Clone(a.offsets)
	g.each(direction, func(node, neighbor int32, edge int) {
		at := next[node]
		next[node]++
		a.neighbors[at] = neighbor
		if a.weights != nil {
			a.weights[at] = g.weights[edge]
		}
	})
	return a
}

// checkInterval is the number of steps after which a computation checks whether it is cancelled.
const checkInterval = 1 << 16

// ticker checks a context now and then.
type ticker struct {
	problem func() error // returns the error of the context if it is done
	steps   int
}

func newTicker(ctx context.Context) *ticker {
	return &ticker{problem: func() error { return context.Cause(ctx) }}
}

// tick counts steps, and returns the error of the context if it is done.
func (t *ticker) tick(steps int) error {
	if t.steps += steps; t.steps < checkInterval {
		return nil
	}
	t.steps = 0
	return t.problem()
}

// The range of weights: sums and quotients of weights in it are finite.
const (
	maxWeight = 1e100
	minWeight = 1e-100
)

// ParseWeight parses the JSON text of a property that is the weight of an edge. It reports false if the text is not a
// number from 0 to 1e100. A number below 1e-100 is 0.
func ParseWeight(text string) (float64, bool) {
	weight, err := strconv.ParseFloat(text, 64)
	if err != nil || !(weight >= 0 && weight <= maxWeight) {
		return 0, false
	}
	if weight < minWeight {
		weight = 0
	}
	return weight, true
}
