package rag

import (
	"fmt"
	"slices"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// Limits of the values of a facet.
const (
	defaultFacetLimit = 10
	maxFacetLimit     = 50
)

// facetBody has the fields of a search that count values of its results.
type facetBody struct {
	Facets        []string `json:"facets"`
	FacetLimit    *int64   `json:"facetLimit"`
	FacetInterval *string  `json:"facetInterval"`
}

// facetNames are the names of the facets.
func facetNames() []string {
	return []string{
		string(retrieval.FacetEntityType), string(retrieval.FacetTags), string(retrieval.FacetTimestamp),
	}
}

// read validates the fields and returns what is counted.
func (b *facetBody) read(c *request.Check) retrieval.FacetQuery {
	q := retrieval.FacetQuery{Names: b.names(c), Limit: defaultFacetLimit}
	if b.FacetLimit != nil {
		if len(b.Facets) == 0 {
			c.Fail("facetLimit", "requires facets")
		}
		request.Between(c, "facetLimit", *b.FacetLimit, 1, maxFacetLimit)
		q.Limit = int(*b.FacetLimit)
	}
	if b.FacetInterval != nil {
		c.OneOf(
			"facetInterval", *b.FacetInterval, string(retrieval.Day), string(retrieval.Month), string(retrieval.Year),
		)
		if !slices.Contains(q.Names, retrieval.FacetTimestamp) {
			c.Fail("facetInterval", "requires timestamp in facets")
		}
		q.Interval = retrieval.Interval(*b.FacetInterval)
	}
	return q
}

// names validates the names of the facets and returns them. A list must not be empty, like other lists of a search.
func (b *facetBody) names(c *request.Check) []retrieval.FacetName {
	if b.Facets == nil {
		return nil
	}
	allowed := facetNames()
	if len(b.Facets) == 0 || len(b.Facets) > len(allowed) {
		c.Fail("facets", fmt.Sprintf("must have 1 to %d names; leave it out for none", len(allowed)), allowed...)
		return nil
	}
	names := make([]retrieval.FacetName, len(b.Facets))
	for i, name := range b.Facets {
		field := fmt.Sprintf("facets[%d]", i)
		c.OneOf(field, name, allowed...)
		if slices.Contains(b.Facets[:i], name) {
			c.Fail(field, "is in the list twice")
		}
		names[i] = retrieval.FacetName(name)
	}
	return names
}

// facets are the facets of a search in a response; nil: the request does not name them.
type facets struct {
	EntityType *facet `json:"entityType,omitzero"`
	Tags       *facet `json:"tags,omitzero"`
	Timestamp  *facet `json:"timestamp,omitzero"`
}

type facet struct {
	Interval retrieval.Interval `json:"interval,omitzero"` // of timestamps
	Values   []facetValue       `json:"values"`
	Other    int                `json:"other"`
	Missing  int                `json:"missing"`
}

type facetValue struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

func facetsOf(list []retrieval.Facet) *facets {
	var response facets
	for _, counted := range list {
		f := &facet{
			Interval: counted.Interval, Values: make([]facetValue, len(counted.Values)), Other: counted.Other,
			Missing: counted.Missing,
		}
		for i, v := range counted.Values {
			f.Values[i] = facetValue(v)
		}
		switch counted.Name {
		case retrieval.FacetEntityType:
			response.EntityType = f
		case retrieval.FacetTags:
			response.Tags = f
		case retrieval.FacetTimestamp:
			response.Timestamp = f
		}
	}
	return &response
}
