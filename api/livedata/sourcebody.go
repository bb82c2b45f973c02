package livedata

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// Limits of a source.
const (
	maxName        = 256 // characters: names of sources, metrics and tags
	maxDescription = 64 << 10
	maxUnit        = 64
	maxTagValue    = 1024
	maxTags        = 64
	maxMetrics     = 1000
	maxRetention   = 36_500 // days
	minReportEvery = 0.001  // seconds
	maxReportEvery = 31_536_000
)

// newSource is the body of POST sources.
type newSource struct {
	ID              *string                   `json:"id"`
	Name            *string                   `json:"name"`
	Description     *string                   `json:"description"`
	NodeID          request.Nullable[string]  `json:"nodeId"`
	Unit            request.Nullable[string]  `json:"unit"`
	Metrics         []metricBody              `json:"metrics"`
	Tags            map[string]string         `json:"tags"`
	RetentionDays   request.Nullable[int32]   `json:"retentionDays"`
	IntervalSeconds request.Nullable[float64] `json:"intervalSeconds"`
}

// metricBody is an entry of metrics.
type metricBody struct {
	Name        *string                  `json:"name"`
	Unit        request.Nullable[string] `json:"unit"`
	Description request.Nullable[string] `json:"description"`
}

func requireNames(c *request.Check, metrics []metricBody) {
	for i, m := range metrics {
		c.Required(fmt.Sprintf("metrics[%d].name", i), m.Name != nil)
	}
}

// metricsOf returns the metrics to store. A missing name is reported by requireNames.
func metricsOf(bodies []metricBody) []registry.SourceMetric {
	metrics := make([]registry.SourceMetric, len(bodies))
	for i, b := range bodies {
		if b.Name != nil {
			metrics[i].Name = *b.Name
		}
		set(&metrics[i].Unit, b.Unit)
		set(&metrics[i].Description, b.Description)
	}
	return metrics
}

// source validates the body and returns the source that it describes.
func (b *newSource) source() (registry.Source, error) {
	var c request.Check
	c.Required("name", b.Name != nil)
	requireNames(&c, b.Metrics)
	s := registry.Source{Metrics: metricsOf(b.Metrics), Tags: b.Tags}
	if b.ID != nil {
		s.ID = c.UUID("id", *b.ID)
	} else {
		id, err := uuid.NewV7()
		if err != nil {
			return s, fmt.Errorf("making a source id: %w", err)
		}
		s.ID = id
	}
	if b.Name != nil {
		s.Name = *b.Name
	}
	if b.Description != nil {
		s.Description = *b.Description
	}
	p := sourcePatch{NodeID: b.NodeID, Unit: b.Unit, RetentionDays: b.RetentionDays, IntervalSeconds: b.IntervalSeconds}
	p.checkNode(&c)
	if b.Name != nil {
		p.applyOptional(&s)
		checkSource(&c, &s)
	}
	return s, c.Err()
}

// sourcePatch is the body of PATCH sources: a merge patch (RFC 7396).
type sourcePatch struct {
	ExpectedVersion *int64                                                `json:"expectedVersion"`
	Name            *string                                               `json:"name"`
	Description     request.Nullable[string]                              `json:"description"`
	NodeID          request.Nullable[string]                              `json:"nodeId"`
	Unit            request.Nullable[string]                              `json:"unit"`
	Metrics         request.Nullable[[]metricBody]                        `json:"metrics"`
	Tags            request.Nullable[map[string]request.Nullable[string]] `json:"tags"`
	RetentionDays   request.Nullable[int32]                               `json:"retentionDays"`
	IntervalSeconds request.Nullable[float64]                             `json:"intervalSeconds"`
}

// check validates what can be validated without the source.
func (p *sourcePatch) check() error {
	var c request.Check
	requireNames(&c, p.Metrics.Value)
	if p.ExpectedVersion != nil && *p.ExpectedVersion < 1 {
		c.Fail("expectedVersion", "must be at least 1")
	}
	p.checkNode(&c)
	return c.Err()
}

func (p *sourcePatch) checkNode(c *request.Check) {
	if p.NodeID.Set && !p.NodeID.Null {
		c.UUID("nodeId", p.NodeID.Value)
	}
}

// apply applies the patch to a source and validates the result.
func (p *sourcePatch) apply(s *registry.Source) error {
	if p.Name != nil {
		s.Name = *p.Name
	}
	if p.Description.Set {
		s.Description = p.Description.Value
	}
	if p.Metrics.Set {
		s.Metrics = metricsOf(p.Metrics.Value)
	}
	if p.Tags.Null {
		s.Tags = nil
	}
	for key, value := range p.Tags.Value {
		if value.Null {
			delete(s.Tags, key)
			continue
		}
		if s.Tags == nil {
			s.Tags = map[string]string{}
		}
		s.Tags[key] = value.Value
	}
	p.applyOptional(s)
	var c request.Check
	checkSource(&c, s)
	return c.Err()
}

// applyOptional applies the optional members.
func (p *sourcePatch) applyOptional(s *registry.Source) {
	if p.NodeID.Set {
		s.NodeID = nil
		if id, ok := request.ParseUUID(p.NodeID.Value); ok {
			s.NodeID = &id
		}
	}
	set(&s.Unit, p.Unit)
	set(&s.RetentionDays, p.RetentionDays)
	set(&s.IntervalSeconds, p.IntervalSeconds)
}

func set[T any](field **T, value request.Nullable[T]) {
	switch {
	case value.Null:
		*field = nil
	case value.Set:
		*field = &value.Value
	}
}

// checkSource checks a source as it would be stored.
func checkSource(c *request.Check, s *registry.Source) {
	c.Text("name", s.Name, 1, maxName)
	c.Prose("description", s.Description, maxDescription)
	if s.Unit != nil {
		c.Text("unit", *s.Unit, 0, maxUnit)
	}
	if len(s.Metrics) > maxMetrics {
		c.Fail("metrics", fmt.Sprintf("must be at most %d", maxMetrics))
	}
	seen := map[string]bool{}
	for i, m := range s.Metrics {
		field := fmt.Sprintf("metrics[%d]", i)
		c.Text(field+".name", m.Name, 1, maxName)
		if m.Unit != nil {
			c.Text(field+".unit", *m.Unit, 0, maxUnit)
		}
		if m.Description != nil {
			c.Prose(field+".description", *m.Description, maxDescription)
		}
		if seen[m.Name] {
			c.Fail(field+".name", "is described twice")
		}
		seen[m.Name] = true
	}
	if len(s.Tags) > maxTags {
		c.Fail("tags", fmt.Sprintf("must be at most %d", maxTags))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		if key == "" {
			c.Fail(`tags[""]`, "must not be an empty name")
		}
		c.Text("tags", key, 1, maxName)
		c.Text(request.Member("tags", key), s.Tags[key], 0, maxTagValue)
	}
	if s.RetentionDays != nil {
		request.Between(c, "retentionDays", *s.RetentionDays, 1, maxRetention)
	}
	if s.IntervalSeconds != nil {
		request.Between(c, "intervalSeconds", *s.IntervalSeconds, minReportEvery, maxReportEvery)
	}
}
