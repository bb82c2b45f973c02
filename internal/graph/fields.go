package graph

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// The names of fields, as in [Lifecycle.Stamps].
const (
	fieldName         = "name"
	fieldEntityType   = "entityType"
	fieldDescription  = "description"
	fieldRelationType = "relationType"
	propertyPrefix    = "properties."
)

// resource is a node or an edge as a set of named fields.
type resource interface {
	ref() (Kind, uuid.UUID)
	life() *Lifecycle
	properties() *Properties
	fixedField(field string) jsontext.Value // of a field that is not a property
	setFixedField(field string, value jsontext.Value)
}

func (n *Node) ref() (Kind, uuid.UUID)  { return KindNode, n.ID }
func (n *Node) life() *Lifecycle        { return &n.Lifecycle }
func (n *Node) properties() *Properties { return &n.Properties }

func (n *Node) fixedField(field string) jsontext.Value {
	switch field {
	case fieldName:
		return quote(n.Name)
	case fieldEntityType:
		return quote(string(n.EntityType))
	case fieldDescription:
		if n.Description != nil {
			return quote(*n.Description)
		}
	}
	return nil
}

func (n *Node) setFixedField(field string, value jsontext.Value) {
	switch field {
	case fieldName:
		n.Name = unquote(value)
	case fieldEntityType:
		n.EntityType = EntityType(unquote(value))
	case fieldDescription:
		n.Description = nil
		if value != nil {
			text := unquote(value)
			n.Description = &text
		}
	}
}

func (e *Edge) ref() (Kind, uuid.UUID)  { return KindEdge, e.ID }
func (e *Edge) life() *Lifecycle        { return &e.Lifecycle }
func (e *Edge) properties() *Properties { return &e.Properties }

func (e *Edge) fixedField(field string) jsontext.Value {
	if field == fieldRelationType {
		return quote(e.RelationType)
	}
	return nil
}

func (e *Edge) setFixedField(field string, value jsontext.Value) {
	if field == fieldRelationType {
		e.RelationType = unquote(value)
	}
}

// clone copies the parts of a resource that this package modifies. Properties are
// replaced, never modified in place.
func (n *Node) clone() *Node {
	clone := *n
	clone.Stamps = maps.Clone(n.Stamps)
	return &clone
}

func (e *Edge) clone() *Edge {
	clone := *e
	clone.Stamps = maps.Clone(e.Stamps)
	return &clone
}

func get(r resource, field string) jsontext.Value {
	if name, ok := strings.CutPrefix(field, propertyPrefix); ok {
		return (*r.properties())[name]
	}
	return r.fixedField(field)
}

// put sets a field and its stamp.
func put(r resource, field string, f Field) {
	if name, ok := strings.CutPrefix(field, propertyPrefix); ok {
		*r.properties() = r.properties().with(name, f.Value)
	} else {
		r.setFixedField(field, f.Value)
	}
	life := r.life()
	if f.Stamp == defaultStamp(r, field) {
		delete(life.Stamps, field)
		if len(life.Stamps) == 0 {
			life.Stamps = nil
		}
		return
	}
	if life.Stamps == nil {
		life.Stamps = map[string]Sequence{}
	}
	life.Stamps[field] = f.Stamp
}

// stamp returns the sequence of the command that wrote the current value of a field.
func stamp(r resource, field string) Sequence {
	if s, ok := r.life().Stamps[field]; ok {
		return s
	}
	return defaultStamp(r, field)
}

// defaultStamp returns the stamp of a field that has no entry in Stamps.
func defaultStamp(r resource, field string) Sequence {
	life := r.life()
	if absentProperty(r, field) {
		return max(life.CreatedBy, life.Floor)
	}
	return life.CreatedBy
}

func absentProperty(r resource, field string) bool {
	return strings.HasPrefix(field, propertyPrefix) && get(r, field) == nil
}

// pruneStamps keeps Stamps within MaxStamps: it removes the oldest stamps of absent
// properties, and raises the floor to the newest of the removed ones.
func pruneStamps(r resource) {
	life := r.life()
	if len(life.Stamps) <= MaxStamps {
		return
	}
	var absent []string
	for field := range life.Stamps {
		if absentProperty(r, field) {
			absent = append(absent, field)
		}
	}
	slices.SortFunc(absent, func(a, b string) int {
		if d := life.Stamps[a] - life.Stamps[b]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	// Remove half of them, so that not every update has to sort.
	for _, field := range absent[:(len(absent)+1)/2] {
		life.Floor = max(life.Floor, life.Stamps[field])
		delete(life.Stamps, field)
	}
}

// beforeDeletion returns the state that a deletion overwrites.
func beforeDeletion(r resource) Before {
	return Before{Stamps: maps.Clone(r.life().Stamps), Floor: r.life().Floor}
}

func quote(s string) jsontext.Value { return appendQuoted(nil, s) }

// unquote decodes the result of quote.
func unquote(value jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text)
}
