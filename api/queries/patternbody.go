package queries

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/graphfilter"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/pattern"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// Limits of a pattern.
const (
	maxPatternNodes     = 8
	maxPatternEdges     = 12
	maxPatternLength    = 6
	maxPatternIDs       = 100
	defaultPatternLimit = 50
	maxPatternLimit     = 500
)

// patternName is the form of the name of a node of a pattern.
var patternName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// patternBody is the body of a request for the matches of a pattern.
type patternBody struct {
	Nodes  map[string]patternNode `json:"nodes"`
	Edges  []patternEdge          `json:"edges"`
	Return []string               `json:"return"`
	Limit  *int64                 `json:"limit"`
}

// patternNode has the conditions on a node.
type patternNode struct {
	NodeIDs     []string                  `json:"nodeIds"`
	EntityTypes []string                  `json:"entityTypes"`
	Name        *string                   `json:"name"`
	Properties  map[string]jsontext.Value `json:"properties"`
	graphfilter.BoundsBody
}

// patternEdge is an edge of a pattern.
type patternEdge struct {
	From          *string  `json:"from"`
	To            *string  `json:"to"`
	RelationTypes []string `json:"relationTypes"`
	Direction     *string  `json:"direction"`
	MinLength     *int64   `json:"minLength"`
	MaxLength     *int64   `json:"maxLength"`
	Absent        bool     `json:"absent"`
}

// query validates the body and returns its query, and the names of the nodes, sorted.
func (b *patternBody) query() (names []string, q graphread.PatternQuery, err error) {
	var c request.Check
	c.Required("nodes", b.Nodes != nil)
	if len(b.Nodes) == 0 || len(b.Nodes) > maxPatternNodes {
		c.Fail("nodes", fmt.Sprintf("must have 1 to %d nodes", maxPatternNodes))
		return nil, q, c.Err()
	}
	if len(b.Edges) > maxPatternEdges {
		c.Fail("edges", fmt.Sprintf("must have at most %d edges", maxPatternEdges))
		return nil, q, c.Err()
	}
	names = slices.Sorted(maps.Keys(b.Nodes))
	values := 0
	for _, name := range names {
		if !patternName.MatchString(name) {
			c.Fail(request.Member("nodes", name),
				"must be a name of letters, digits and underscores, at most 64, not a digit first")
		}
		n := b.Nodes[name]
		q.Nodes = append(q.Nodes, n.conditions(&c, request.Member("nodes", name)))
		values += valuesOf(&q.Nodes[len(q.Nodes)-1])
	}
	if values > maxPropertyValues {
		c.Fail("nodes", fmt.Sprintf("the conditions on properties have more than %d values", maxPropertyValues))
	}
	q.Pattern.Nodes = len(names)
	for i := range b.Edges {
		q.Pattern.Edges = append(q.Pattern.Edges, b.Edges[i].read(&c, fmt.Sprintf("edges[%d]", i), names))
	}
	if c.Err() == nil && !q.Pattern.Connected() {
		c.Fail("edges", "must connect all nodes without the edges that are absent")
	}
	q.Limit, q.MaxBytes = defaultPatternLimit, patternBytes
	if b.Limit != nil {
		request.Between(&c, "limit", *b.Limit, 1, maxPatternLimit)
		q.Limit = int(*b.Limit)
	}
	if err := c.Err(); err != nil {
		return nil, q, err
	}
	b.readReturn(&c, names, &q)
	return names, q, c.Err()
}

// readReturn validates the names of the nodes to return.
func (b *patternBody) readReturn(c *request.Check, names []string, q *graphread.PatternQuery) {
	if b.Return == nil {
		return
	}
	if len(b.Return) == 0 {
		c.Fail("return", "must not be empty; leave it out for all nodes and edges")
	}
	required := q.Pattern.Required()
	q.Return = []int{}
	for i, name := range b.Return {
		node, found := slices.BinarySearch(names, name)
		switch field := fmt.Sprintf("return[%d]", i); {
		case !found:
			c.Fail(field, "is not a name in nodes", names...)
		case !required[node]:
			c.Fail(field, "is only at absent edges, so matches do not have it")
		case slices.Contains(q.Return, node):
			c.Fail(field, "is repeated")
		}
		q.Return = append(q.Return, node)
	}
}

// read validates an edge and returns it.
func (e *patternEdge) read(c *request.Check, field string, names []string) pattern.Edge {
	end := func(name string, value *string) int {
		c.Required(field+"."+name, value != nil)
		if value == nil {
			return 0
		}
		node, found := slices.BinarySearch(names, *value)
		if !found {
			c.Fail(field+"."+name, "is not a name in nodes", names...)
		}
		return node
	}
	p := pattern.Edge{
		From: end("from", e.From), To: end("to", e.To), Out: true, MinLength: 1, MaxLength: 1, Absent: e.Absent,
		RelationTypes: graphfilter.RelationTypes(c, field+".relationTypes", e.RelationTypes),
	}
	if e.Direction != nil {
		c.OneOf(field+".direction", *e.Direction, "out", "in", "both")
		p.Out, p.In = *e.Direction != "in", *e.Direction != "out"
	}
	e.readLengths(c, field, &p)
	return p
}

func (e *patternEdge) readLengths(c *request.Check, field string, p *pattern.Edge) {
	if e.MinLength != nil {
		request.Between(c, field+".minLength", *e.MinLength, 1, maxPatternLength)
		p.MinLength, p.MaxLength = int(*e.MinLength), int(*e.MinLength)
	}
	if e.MaxLength == nil {
		return
	}
	request.Between(c, field+".maxLength", *e.MaxLength, 1, maxPatternLength)
	if p.MaxLength = int(*e.MaxLength); p.MaxLength < p.MinLength {
		c.Fail(field+".maxLength", "must be at least minLength")
	}
}

// valuesOf returns the number of values in conditions on properties.
func valuesOf(n *graphread.NodeFilter) int {
	count := len(n.Bounds.Min) + len(n.Bounds.Max)
	for _, values := range n.Properties {
		count += len(values)
	}
	for _, prefixes := range n.Bounds.Prefixes {
		count += len(prefixes)
	}
	return count
}

// conditions validates the conditions on a node and returns them.
func (n *patternNode) conditions(c *request.Check, field string) (conditions graphread.NodeFilter) {
	if n.NodeIDs != nil && len(n.NodeIDs) == 0 {
		c.Fail(field+".nodeIds", "must not be empty; leave it out for any node")
	}
	if len(n.NodeIDs) > 0 {
		conditions.IDs = c.UUIDs(field+".nodeIds", n.NodeIDs, maxPatternIDs)
	}
	conditions.EntityTypes = graphfilter.EntityTypes(c, field+".entityTypes", n.EntityTypes)
	if n.Name != nil {
		c.Text(field+".name", *n.Name, 1, graph.MaxName)
		conditions.Name = *n.Name
	}
	conditions.Properties = graphfilter.Properties(c, field+".properties", n.Properties)
	conditions.Bounds = n.Read(c, field+".")
	return conditions
}
