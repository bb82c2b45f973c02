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

// Filter says which nodes or edges; all that is set must hold, here and in
// what it is part of.
type Filter struct {
	IDs           []uuid.UUID `json:"ids,omitempty"`
	CreatedAfter  *time.Time  `json:"ca,omitzero"` // all four without the moment itself
	CreatedBefore *time.Time  `json:"cb,omitzero"`
	UpdatedAfter  *time.Time  `json:"ua,omitzero"`
	UpdatedBefore *time.Time  `json:"ub,omitzero"`
	// Properties of the top level: the one with the name equals one of the texts,
	// as a string, or as a number or boolean that JSON writes so.
	Properties map[string][]string `json:"p,omitempty"`
}

// NodeFilter says which nodes.
type NodeFilter struct {
	Filter      `json:",inline"`
	EntityTypes []string `json:"t,omitempty"` // of one of these
	Name        string   `json:"n,omitzero"`  // a part of the name, whatever the case
}

// EdgeFilter says which edges.
type EdgeFilter struct {
	Filter        `json:",inline"`
	RelationTypes []string    `json:"t,omitempty"`  // of one of these
	SourceIDs     []uuid.UUID `json:"s,omitempty"`  // from one of these
	TargetIDs     []uuid.UUID `json:"g,omitempty"`  // to one of these
	NodeIDs       []uuid.UUID `json:"no,omitempty"` // with one of these at an end
}

// conditions is a filter as the lists need it.
type conditions interface {
	// labels are the entity or relation types that it wants; nil: all.
	labels() []string
	// others says that it wants more than labels.
	others() bool
	apply(w *postgres.Where)
	// bound adds where in an order the rows can be that pass.
	bound(w *postgres.Where, by Order)
}

func (f *NodeFilter) labels() []string { return f.EntityTypes }
func (f *NodeFilter) others() bool     { return f.Name != "" || f.set() }

func (f *NodeFilter) apply(w *postgres.Where) {
	if f.EntityTypes != nil {
		w.Add("entity_type = ANY(?)", f.EntityTypes)
	}
	if f.Name != "" {
		w.Add("name_folded LIKE lower(?)", "%"+likeEscapes.Replace(f.Name)+"%")
	}
	f.Filter.apply(w)
}

// likeEscapes makes a text mean itself in a pattern of LIKE.
var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func (f *EdgeFilter) labels() []string { return f.RelationTypes }

func (f *EdgeFilter) others() bool {
	return f.SourceIDs != nil || f.TargetIDs != nil || f.NodeIDs != nil || f.set()
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

func (f *Filter) set() bool {
	return f.IDs != nil || f.CreatedAfter != nil || f.CreatedBefore != nil || f.UpdatedAfter != nil ||
		f.UpdatedBefore != nil || len(f.Properties) > 0
}

func (f *Filter) apply(w *postgres.Where) {
	if f.IDs != nil {
		w.Add("id = ANY(?)", f.IDs)
	}
	for _, bound := range []struct {
		condition string
		at        *time.Time
		before    bool
	}{
		{"created_at > ?", f.CreatedAfter, false}, {"created_at < ?", f.CreatedBefore, true},
		{"updated_at > ?", f.UpdatedAfter, false}, {"updated_at < ?", f.UpdatedBefore, true},
	} {
		if bound.at != nil {
			w.Add(bound.condition, stored(*bound.at, bound.before))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		// Each by itself and not @> ANY: an index answers that alone.
		var either []string
		for _, text := range f.Properties[name] {
			for _, value := range readings(text) {
				either = append(either, "properties @> "+w.Arg(string(property(name, value)))+"::jsonb")
			}
		}
		w.Conditions = append(w.Conditions, "("+strings.Join(either, " OR ")+")")
	}
}

// bound adds bounds of the field that a list is sorted by: those of the filter, and
// those that follow from it, because nothing was updated before it was created.
func (f *Filter) bound(w *postgres.Where, by Order) {
	add := func(sign string, at *time.Time) {
		if at != nil {
			w.Add(sortFields[by.Field].column+sign+"?", stored(*at, sign == " < "))
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

// stored brings a bound to the precision of what is stored, microseconds, so that
// it lets the same times pass: an upper bound between two goes up.
func stored(at time.Time, upper bool) time.Time {
	cut := at.Truncate(time.Microsecond)
	if upper && cut.Before(at) {
		return cut.Add(time.Microsecond)
	}
	return cut
}

// readings are the JSON values that a text in a filter stands for: the string, and
// the number or boolean that is written just so.
func readings(text string) []jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, text) // the text was read as valid UTF-8
	values := []jsontext.Value{quoted}
	if text == "true" || text == "false" {
		return append(values, jsontext.Value(text))
	}
	if text == "" || strings.Trim(text, "-.0123456789") != "" {
		return values
	}
	canonical, err := graph.ParseProperties(jsontext.Value(`{"":` + text + `}`))
	if err == nil && string(canonical[""]) == text {
		values = append(values, jsontext.Value(text))
	}
	return values
}

// property is an object with one member.
func property(name string, value jsontext.Value) jsontext.Value {
	object, _ := jsontext.AppendQuote([]byte{'{'}, name)
	return append(append(append(object, ':'), value...), '}')
}
