package analyses

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/analysis"
)

// Limits of the body of an analysis.
const (
	maxRelationTypes = 100
	maxProperty      = 128 // characters of the name of a property
	defaultDamping   = 0.85
	maxDamping       = 0.99
)

// newAnalysis is the body of POST analyses.
type newAnalysis struct {
	Algorithm     *string  `json:"algorithm"`
	EntityTypes   []string `json:"entityTypes"`
	RelationTypes []string `json:"relationTypes"`
	Weight        *string  `json:"weight"`
	Direction     *string  `json:"direction"`
	Damping       *float64 `json:"damping"`
	Property      *string  `json:"property"`
}

// authorize checks the scope of what the analysis writes.
func (b *newAnalysis) authorize(ctx context.Context) error {
	if b.Property == nil {
		return nil
	}
	return request.Require(ctx, request.WriteNodes)
}

// spec validates the body and returns what it specifies.
func (b *newAnalysis) spec() (analysis.Spec, error) {
	var c request.Check
	c.Required("algorithm", b.Algorithm != nil)
	if err := c.Err(); err != nil {
		return analysis.Spec{}, err
	}
	c.OneOf("algorithm", *b.Algorithm, analysis.Algorithms()...)
	s := analysis.Spec{
		Algorithm: analysis.Algorithm(*b.Algorithm), EntityTypes: b.EntityTypes, RelationTypes: b.RelationTypes,
		Weight: b.Weight, Property: b.Property,
	}
	b.checkTypes(&c, &s)
	b.checkDirection(&c, &s)
	b.checkDamping(&c, &s)
	if b.Weight != nil {
		c.Text("weight", *b.Weight, 1, maxProperty)
		if s.Algorithm == analysis.ComponentsAlgorithm {
			c.Fail("weight", "is not for components")
		}
	}
	if b.Property != nil {
		c.Text("property", *b.Property, 1, maxProperty)
	}
	return s, c.Err()
}

func (b *newAnalysis) checkTypes(c *request.Check, s *analysis.Spec) {
	if s.EntityTypes == nil {
		s.EntityTypes = []string{}
	}
	if s.RelationTypes == nil {
		s.RelationTypes = []string{}
	}
	if len(s.EntityTypes) > len(graph.EntityTypes()) {
		c.Fail("entityTypes", fmt.Sprintf("must be at most %d", len(graph.EntityTypes())))
	}
	for i, t := range s.EntityTypes {
		c.OneOf(fmt.Sprintf("entityTypes[%d]", i), t, graph.EntityTypes()...)
	}
	if len(s.RelationTypes) > maxRelationTypes {
		c.Fail("relationTypes", fmt.Sprintf("must be at most %d", maxRelationTypes))
		return
	}
	for i, t := range s.RelationTypes {
		c.Text(fmt.Sprintf("relationTypes[%d]", i), t, 1, graph.MaxRelationType)
	}
}

// directed reports whether an algorithm has a direction, and returns the default.
func directed(a analysis.Algorithm) (analysis.Direction, bool) {
	switch a {
	case analysis.DegreeAlgorithm:
		return analysis.Both, true
	case analysis.PageRankAlgorithm:
		return analysis.Out, true
	}
	return "", false
}

func (b *newAnalysis) checkDirection(c *request.Check, s *analysis.Spec) {
	direction, ok := directed(s.Algorithm)
	if b.Direction != nil {
		c.OneOf("direction", *b.Direction, string(analysis.Out), string(analysis.In), string(analysis.Both))
		direction = analysis.Direction(*b.Direction)
		if !ok {
			c.Fail("direction", "is only for degree and pagerank")
		}
	}
	if ok {
		s.Direction = &direction
	}
}

func (b *newAnalysis) checkDamping(c *request.Check, s *analysis.Spec) {
	damping := defaultDamping
	if b.Damping != nil {
		damping = *b.Damping
		request.Between(c, "damping", damping, 0, maxDamping)
		if s.Algorithm != analysis.PageRankAlgorithm {
			c.Fail("damping", "is only for pagerank")
		}
	}
	if s.Algorithm == analysis.PageRankAlgorithm {
		s.Damping = &damping
	}
}
