package graph

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// NodeKey identifies a node by its entity type and the value of one of its properties,
// such as a serial number: what another system knows of the node. It is not a constraint:
// other commands may give two nodes the same key, which is then ambiguous.
type NodeKey struct {
	EntityType EntityType
	Property   string // of the top level
	Value      string // a string or a number as canonical JSON
}

// ParseNodeKey creates a key from a property and its value in JSON. The error is a fault
// for a field.
func ParseNodeKey(entityType EntityType, property string, value jsontext.Value, field string) (NodeKey, error) {
	key := NodeKey{EntityType: entityType, Property: property}
	parsed, err := parse(value, MaxDepth)
	if err != nil {
		return key, fault.Field(fault.Invalid, field, err.Error())
	}
	key.Value = string(encode(nil, parsed))
	return key, key.check(field)
}

// Matches reports whether a node is live and has the key.
func (k NodeKey) Matches(n *Node) bool {
	return !n.Deleted && n.EntityType == k.EntityType && string(n.Properties[k.Property]) == k.Value
}

// IsKeyValue reports whether a property with a value in canonical JSON, nil for none, can be
// the key of its node: it is a string or a number.
func IsKeyValue(value jsontext.Value) bool {
	return len(value) > 0 && (value.Kind() == '"' || value.Kind() == '0')
}

func (k NodeKey) check(field string) error {
	if err := checkText(field, k.Property, MaxKeyProperty); err != nil {
		return err
	}
	raw := jsontext.Value(k.Value)
	value, err := parse(raw, MaxDepth)
	if err != nil || !IsKeyValue(raw) || string(encode(nil, value)) != k.Value {
		return fault.Field(fault.Invalid, field, "must have a string or a number as value")
	}
	return checkText(field, k.text(), MaxKeyValue)
}

// text returns the value as a name.
func (k NodeKey) text() string {
	if jsontext.Value(k.Value).Kind() == '"' {
		return unquote(jsontext.Value(k.Value))
	}
	return k.Value
}

// NodeRef identifies an existing node by its id or by its key.
type NodeRef struct {
	ID  uuid.UUID
	Key *NodeKey // nil: the id
}

// UpsertNode changes the node with a key, or creates it.
type UpsertNode struct {
	ID               uuid.UUID // of the node if it is created
	Key              NodeKey
	Name             *string // nil: unchanged; of a created node: the value of the key
	Description      *string
	ClearDescription bool           // with Description nil: removes the description
	Properties       jsontext.Value // a JSON Merge Patch (RFC 7396), which does not change the key
}

// UpsertEdge changes the edge of a type from one node to another, or creates it.
type UpsertEdge struct {
	ID           uuid.UUID // of the edge if it is created
	Source       NodeRef
	Target       NodeRef
	RelationType string
	Properties   jsontext.Value // a JSON Merge Patch (RFC 7396)
}

// Type reports which command the payload is for.
func (UpsertNode) Type() Type { return TypeUpsertNode }

// Type reports which command the payload is for.
func (UpsertEdge) Type() Type { return TypeUpsertEdge }

func (p UpsertNode) check() error {
	if err := checkEntityType(p.Key.EntityType); err != nil {
		return err
	}
	if err := p.Key.check("payload.key"); err != nil {
		return err
	}
	if p.Name != nil {
		if err := checkText("payload.name", *p.Name, MaxName); err != nil {
			return err
		}
	}
	if p.Description != nil {
		if err := checkDescription(*p.Description); err != nil {
			return err
		}
	}
	if p.Properties == nil {
		return nil
	}
	_, encoded, err := parsePatch(p.Properties)
	if err != nil {
		return propertiesFault(err)
	}
	if value, ok := encoded[p.Key.Property]; ok && string(value) != p.Key.Value {
		return fault.Field(fault.Invalid, "payload.properties", "must not change the property of the key")
	}
	return nil
}

func (p UpsertEdge) check() error {
	if err := p.Source.check("payload.source"); err != nil {
		return err
	}
	if err := p.Target.check("payload.target"); err != nil {
		return err
	}
	if err := checkText("payload.relationType", p.RelationType, MaxRelationType); err != nil {
		return err
	}
	return checkProperties(p.Properties)
}

func (r NodeRef) check(field string) error {
	if r.Key == nil {
		return nil
	}
	if err := checkEntityTypeOf(field+".entityType", r.Key.EntityType); err != nil {
		return err
	}
	return r.Key.check(field + ".key")
}

// Effect is what an upsert did. Its change has the type of the command that would have done
// the same: CREATE_NODE, UPDATE_NODE, CREATE_EDGE or UPDATE_EDGE.
type Effect string

// The effects of upserts.
const (
	Created   Effect = "created"
	Updated   Effect = "updated"
	Unchanged Effect = "unchanged"
)

// maxMatches is the number of matches that are read, of which one is sufficient.
const maxMatches = 2

// upsertNode applies an UPSERT_NODE as a creation or as an update.
func (d *decision) upsertNode(p UpsertNode) (*Node, error) {
	found, err := d.state.NodesByKey(p.Key, maxMatches)
	switch {
	case err != nil:
		return nil, err
	case len(found) > 1:
		return nil, ambiguous("Several nodes have this key", "payload.key", found[0].ID, found[1].ID)
	case len(found) == 1:
		return d.updateNode(UpdateNode{
			ID: found[0].ID, Name: p.Name, Description: p.Description, ClearDescription: p.ClearDescription,
			Properties: p.Properties,
		}, nil)
	}
	created := CreateNode{ID: p.ID, EntityType: p.Key.EntityType, Description: p.Description}
	if p.Name != nil {
		created.Name = *p.Name
	} else {
		created.Name = firstCharacters(p.Key.text(), MaxName)
	}
	var properties Properties
	if p.Properties != nil {
		if properties, err = ParseProperties(p.Properties); err != nil {
			return nil, propertiesFault(err)
		}
	}
	created.Properties = properties.with(p.Key.Property, jsontext.Value(p.Key.Value)).Encode()
	return d.createNode(created)
}

// upsertEdge applies an UPSERT_EDGE as a creation or as an update.
func (d *decision) upsertEdge(p UpsertEdge) (*Edge, error) {
	source, err := d.resolve(p.Source, "payload.source", "Source node")
	if err != nil {
		return nil, err
	}
	target, err := d.resolve(p.Target, "payload.target", "Target node")
	if err != nil {
		return nil, err
	}
	found, err := d.state.EdgesBetween(source, target, p.RelationType, maxMatches)
	switch {
	case err != nil:
		return nil, err
	case len(found) > 1:
		return nil, ambiguous(
			"Several edges of this type connect the nodes", "payload.relationType", found[0].ID, found[1].ID,
		)
	case len(found) == 1:
		return d.updateEdge(UpdateEdge{ID: found[0].ID, Properties: p.Properties}, nil)
	}
	return d.createEdge(CreateEdge{
		ID: p.ID, SourceID: source, TargetID: target, RelationType: p.RelationType, Properties: p.Properties,
	})
}

// resolve returns the id of a live node. field is the prefix of the field that is in an error.
func (d *decision) resolve(r NodeRef, field, what string) (uuid.UUID, error) {
	if r.Key == nil {
		_, err := d.liveNode(r.ID, field+"Id", what)
		return r.ID, err
	}
	found, err := d.state.NodesByKey(*r.Key, maxMatches)
	switch {
	case err != nil:
		return uuid.Nil, err
	case len(found) == 0:
		return uuid.Nil, notFound(what, field+".key")
	case len(found) > 1:
		return uuid.Nil, ambiguous("Several nodes have this key", field+".key", found[0].ID, found[1].ID)
	}
	return found[0].ID, nil
}

// effectOf returns the effect of an upsert that was applied when the decision had a number of
// steps.
func (d *decision) effectOf(steps int) Effect {
	if len(d.steps) == steps {
		return Unchanged
	}
	switch d.steps[steps].Type {
	case TypeCreateNode, TypeCreateEdge:
		return Created
	}
	return Updated
}

func isUpsert(p Payload) bool {
	switch p.(type) {
	case UpsertNode, UpsertEdge:
		return true
	}
	return false
}

// ambiguous returns the error of an upsert for which there are several matches.
func ambiguous(message, field string, ids ...uuid.UUID) error {
	return fault.New(fault.Conflict, message).With("reason", "ambiguous").With("field", field).With("ids", ids)
}

// TooManyKeyProperties returns the error of an upsert whose key would be one property too many.
// known are those of the workspace.
func TooManyKeyProperties(known []string) error {
	return fault.Field(
		fault.Invalid, "payload.key", "is not one of the properties that are keys in this workspace, which has the maximum",
		known...,
	)
}

// firstCharacters returns at most n characters of a text.
func firstCharacters(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
