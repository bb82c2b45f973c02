package graphread

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Filter selects nodes or edges. They must meet all conditions that are set, here and in the
// filter that embeds it.
type Filter struct {
	IDs           []uuid.UUID `json:"ids,omitempty"`
	CreatedAfter  *time.Time  `json:"ca,omitzero"` // all four bounds are exclusive
	CreatedBefore *time.Time  `json:"cb,omitzero"`
	UpdatedAfter  *time.Time  `json:"ua,omitzero"`
	UpdatedBefore *time.Time  `json:"ub,omitzero"`
	// Properties has conditions on properties of the top level: the property with the name is one of the values,
	// strings, numbers or booleans in canonical JSON.
	Properties map[string][]jsontext.Value `json:"p,omitempty"`
	// Bounds has further conditions on properties of the top level.
	Bounds graph.PropertyBounds `json:"b,omitzero"`
}

// NodeFilter selects nodes.
type NodeFilter struct {
	Filter      `json:",inline"`
	EntityTypes []string `json:"t,omitempty"` // of one of these
	Name        string   `json:"n,omitzero"`  // a substring of the name, case-insensitive
}

// EdgeFilter selects edges.
type EdgeFilter struct {
	Filter        `json:",inline"`
	RelationTypes []string    `json:"t,omitempty"`  // of one of these
	SourceIDs     []uuid.UUID `json:"s,omitempty"`  // from one of these
	TargetIDs     []uuid.UUID `json:"g,omitempty"`  // to one of these
	NodeIDs       []uuid.UUID `json:"no,omitempty"` // with one of these at an end
}

// conditions is the interface of filters to the lists.
type conditions interface {
	// labels returns the entity or relation types that pass; nil: all.
	labels() []string
	// hasOtherConditions reports whether the filter has conditions besides labels.
	hasOtherConditions() bool
	// apply adds all conditions.
	apply(w *postgres.Where)
	// addSortBounds adds bounds of the sort field that all rows meet that pass the filter.
	addSortBounds(w *postgres.Where, by Order)
}

func (f *NodeFilter) labels() []string         { return f.EntityTypes }
func (f *NodeFilter) hasOtherConditions() bool { return f.Name != "" || f.isSet() }

func (f *NodeFilter) apply(w *postgres.Where) {
	if f.EntityTypes != nil {
		w.Add("entity_type = ANY(?)", f.EntityTypes)
	}
	if f.Name != "" {
		w.Add("name_folded LIKE lower(?)", "%"+likeEscapes.Replace(f.Name)+"%")
	}
	f.Filter.apply(w)
}

// likeEscapes escapes a text for a pattern of LIKE.
var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func (f *EdgeFilter) labels() []string { return f.RelationTypes }

func (f *EdgeFilter) hasOtherConditions() bool {
	return f.SourceIDs != nil || f.TargetIDs != nil || f.NodeIDs != nil || f.isSet()
}

func (f *EdgeFilter) apply(w *postgres.Where) {
	if f.RelationTypes != nil {
		w.Add("relation_type = ANY(?)", f.RelationTypes)
	}
	if f.SourceIDs != nil {
		w.Add("source_id = ANY(?)", f.SourceIDs)
	}
	if f.TargetIDs != nil {
		w.Add("target_id = ANY(?)", f.TargetIDs)
	}
	if f.NodeIDs != nil {
		w.Add("(source_id = ANY(?) OR target_id = ANY(?))", f.NodeIDs, f.NodeIDs)
	}
	f.Filter.apply(w)
}

func (f *Filter) isSet() bool {
	return f.IDs != nil || f.CreatedAfter != nil || f.CreatedBefore != nil || f.UpdatedAfter != nil ||
		f.UpdatedBefore != nil || len(f.Properties) > 0 || !f.Bounds.IsEmpty()
}

func (f *Filter) apply(w *postgres.Where) {
	if f.IDs != nil {
		w.Add("id = ANY(?)", f.IDs)
	}
	for _, bound := range []struct {
		condition string
		time      *time.Time
		before    bool
	}{
		{"created_at > ?", f.CreatedAfter, false}, {"created_at < ?", f.CreatedBefore, true},
		{"updated_at > ?", f.UpdatedAfter, false}, {"updated_at < ?", f.UpdatedBefore, true},
	} {
		if bound.time != nil {
			w.Add(bound.condition, roundBound(*bound.time, bound.before))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		// One condition per value instead of @> ANY, because only these can use an index.
		var alternatives []string
		for _, value := range f.Properties[name] {
			alternatives = append(alternatives, "properties @> "+w.Arg(string(propertyObject(name, value)))+"::jsonb")
		}
		w.Conditions = append(w.Conditions, "("+strings.Join(alternatives, " OR ")+")")
	}
	boundConditions{w, "properties"}.add(&f.Bounds)
}

// addSortBounds adds bounds of the field that a list is sorted by: those of the filter, and
// those that follow from it, because nothing was updated before it was created.
func (f *Filter) addSortBounds(w *postgres.Where, by Order) {
	add := func(sign string, at *time.Time) {
		if at != nil {
			w.Add(sortFields[by.Field].column+sign+"?", roundBound(*at, sign == " < "))
		}
	}
	switch by.Field {
	case "createdAt":
		add(" > ", f.CreatedAfter)
		add(" < ", f.CreatedBefore)
		add(" < ", f.UpdatedBefore)
	case "updatedAt":
		add(" > ", f.UpdatedAfter)
		add(" < ", f.UpdatedBefore)
		add(" > ", f.CreatedAfter)
	}
}

// roundBound rounds a bound to the precision of stored times, microseconds, so that the same
// stored times pass: an upper bound between two microseconds is rounded up, a lower one down.
func roundBound(at time.Time, upper bool) time.Time {
	truncated := at.Truncate(time.Microsecond)
	if upper && truncated.Before(at) {
		return truncated.Add(time.Microsecond)
	}
	return truncated
}

// propertyObject returns a JSON object with one member.
func propertyObject(name string, value jsontext.Value) jsontext.Value {
	object, _ := jsontext.AppendQuote([]byte{'{'}, name)
	return append(append(append(object, ':'), value...), '}')
}
