package commands

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// maxRawProperties is the maximum size in bytes, without white space, of properties that are
// parsed: [graph.MaxProperties] with each character escaped, and some margin.
const maxRawProperties = 8 * graph.MaxProperties

// commandTypes lists the types of commands for error messages.
var commandTypes = []string{
	string(graph.TypeCreateNode), string(graph.TypeUpdateNode), string(graph.TypeDeleteNode), string(graph.TypeCreateEdge),
	string(graph.TypeUpdateEdge), string(graph.TypeDeleteEdge), string(graph.TypeUpsertNode),
	string(graph.TypeUpsertEdge), string(graph.TypeUndo), string(graph.TypeRedo),
}

// createNode and the following types are the JSON form of payloads. Pointers are nil when
// the member is absent.
type createNode struct {
	ID          *string                  `json:"id"`
	Name        *string                  `json:"name"`
	EntityType  *string                  `json:"entityType"`
	Description request.Nullable[string] `json:"description"`
	Properties  jsontext.Value           `json:"properties"`
}

type updateNode struct {
	ID          *string                  `json:"id"`
	Name        *string                  `json:"name"`
	EntityType  *string                  `json:"entityType"`
	Description request.Nullable[string] `json:"description"`
	Properties  jsontext.Value           `json:"properties"`
}

type createEdge struct {
	ID           *string        `json:"id"`
	SourceID     *string        `json:"sourceId"`
	TargetID     *string        `json:"targetId"`
	RelationType *string        `json:"relationType"`
	Properties   jsontext.Value `json:"properties"`
}

type updateEdge struct {
	ID           *string        `json:"id"`
	RelationType *string        `json:"relationType"`
	Properties   jsontext.Value `json:"properties"`
}

type target struct {
	ID *string `json:"id"`
}

type pick struct {
	Scope     *string `json:"scope"`
	CommandID *string `json:"commandId"`
}

// payloadReader parses the payload of one command. A payload that cannot be parsed is an
// error immediately. A value that breaks a rule is only recorded, because parse errors
// elsewhere in the body are reported first.
type payloadReader struct {
	raw     jsontext.Value // nil: absent
	check   request.Check
	invalid error // the first value that breaks a rule
}

const payloadPath = "payload"

// decode decodes the payload into v. A missing payload is an error.
func (p *payloadReader) decode(v any) error {
	if p.raw == nil {
		return fault.Field(fault.Malformed, payloadPath, "is required")
	}
	if p.raw.Kind() != '{' {
		return fault.Field(fault.Malformed, payloadPath, "must be an object")
	}
	return request.DecodePart(p.raw, payloadPath, v)
}

// read returns the payload of a command of a type, nil for an unknown type.
func (p *payloadReader) read(kind graph.Type) (graph.Payload, error) {
	switch kind {
	case graph.TypeCreateNode:
		return p.createNode()
	case graph.TypeUpdateNode:
		return p.updateNode()
	case graph.TypeCreateEdge:
		return p.createEdge()
	case graph.TypeUpdateEdge:
		return p.updateEdge()
	case graph.TypeDeleteNode:
		id, err := p.deletedID()
		return graph.DeleteNode{ID: id}, err
	case graph.TypeDeleteEdge:
		id, err := p.deletedID()
		return graph.DeleteEdge{ID: id}, err
	case graph.TypeUpsertNode:
		return p.upsertNode()
	case graph.TypeUpsertEdge:
		return p.upsertEdge()
	case graph.TypeUndo:
		picked, err := p.pick()
		return graph.Undo{Pick: picked}, err
	case graph.TypeRedo:
		picked, err := p.pick()
		return graph.Redo{Pick: picked}, err
	}
	p.fail("type", "is not a type of command", commandTypes...)
	return nil, nil
}

func (p *payloadReader) createNode() (graph.Payload, error) {
	var body createNode
	if err := p.decode(&body); err != nil {
		return nil, err
	}
	p.check.Required("payload.name", body.Name != nil)
	p.check.Required("payload.entityType", body.EntityType != nil)
	if err := p.check.Err(); err != nil {
		return nil, err
	}
	properties, err := p.properties(body.Properties)
	if err != nil {
		return nil, err
	}
	node := graph.CreateNode{
		ID: p.idOrNew(body.ID), Name: *body.Name, EntityType: graph.EntityType(*body.EntityType), Properties: properties,
	}
	if body.Description.Set && !body.Description.Null {
		node.Description = &body.Description.Value
	}
	return node, nil
}

func (p *payloadReader) updateNode() (graph.Payload, error) {
	var body updateNode
	if err := p.decode(&body); err != nil {
		return nil, err
	}
	p.check.Required("payload.id", body.ID != nil)
	if err := p.check.Err(); err != nil {
		return nil, err
	}
	properties, err := p.properties(body.Properties)
	if err != nil {
		return nil, err
	}
	update := graph.UpdateNode{
		ID: existingID(*body.ID), Name: body.Name, EntityType: (*graph.EntityType)(body.EntityType),
		ClearDescription: body.Description.Null, Properties: properties,
	}
	if body.Description.Set && !body.Description.Null {
		update.Description = &body.Description.Value
	}
	return update, nil
}

func (p *payloadReader) createEdge() (graph.Payload, error) {
	var body createEdge
	if err := p.decode(&body); err != nil {
		return nil, err
	}
	p.check.Required("payload.sourceId", body.SourceID != nil)
	p.check.Required("payload.targetId", body.TargetID != nil)
	p.check.Required("payload.relationType", body.RelationType != nil)
	if err := p.check.Err(); err != nil {
		return nil, err
	}
	properties, err := p.properties(body.Properties)
	if err != nil {
		return nil, err
	}
	return graph.CreateEdge{
		ID: p.idOrNew(body.ID), SourceID: existingID(*body.SourceID), TargetID: existingID(*body.TargetID),
		RelationType: *body.RelationType, Properties: properties,
	}, nil
}

func (p *payloadReader) updateEdge() (graph.Payload, error) {
	var body updateEdge
	if err := p.decode(&body); err != nil {
		return nil, err
	}
	p.check.Required("payload.id", body.ID != nil)
	if err := p.check.Err(); err != nil {
		return nil, err
	}
	properties, err := p.properties(body.Properties)
	if err != nil {
		return nil, err
	}
	return graph.UpdateEdge{ID: existingID(*body.ID), RelationType: body.RelationType, Properties: properties}, nil
}

// deletedID parses the payload of a deletion.
func (p *payloadReader) deletedID() (uuid.UUID, error) {
	var body target
	if err := p.decode(&body); err != nil {
		return uuid.Nil, err
	}
	p.check.Required("payload.id", body.ID != nil)
	if err := p.check.Err(); err != nil {
		return uuid.Nil, err
	}
	return existingID(*body.ID), nil
}

// Scopes of UNDO and REDO.
const (
	scopeMine      = "mine"
	scopeWorkspace = "workspace"
)

// pick parses the payload of UNDO and REDO, which may be absent.
func (p *payloadReader) pick() (picked graph.Pick, err error) {
	if p.raw == nil {
		return picked, nil
	}
	var body pick
	if err := p.decode(&body); err != nil {
		return picked, err
	}
	if body.Scope != nil {
		if !slices.Contains([]string{scopeMine, scopeWorkspace}, *body.Scope) {
			p.fail("payload.scope", "is not one of the allowed values", scopeMine, scopeWorkspace)
		}
		picked.Workspace = *body.Scope == scopeWorkspace
	}
	if body.CommandID != nil {
		if picked.CommandID = existingID(*body.CommandID); picked.CommandID == uuid.Nil { // nil selects the last command
			picked.CommandID = newID()
		}
		if body.Scope != nil {
			p.fail("payload.scope", "goes without a commandId")
		}
	}
	return picked, nil
}

// fail records a value that breaks a rule.
func (p *payloadReader) fail(field, reason string, allowed ...string) {
	if p.invalid == nil {
		p.invalid = fault.Field(fault.Invalid, field, reason, allowed...)
	}
}

// properties parses an object. Package internal/graph validates it; here only its size in
// memory is bounded.
func (p *payloadReader) properties(raw jsontext.Value) (jsontext.Value, error) {
	if raw == nil {
		return nil, nil
	}
	if raw.Kind() != '{' {
		return nil, fault.Field(fault.Malformed, "payload.properties", "must be an object")
	}
	if err := raw.Compact(); err != nil {
		return nil, fmt.Errorf("reading properties: %w", err)
	}
	if len(raw) > maxRawProperties {
		p.fail("payload.properties", fmt.Sprintf("is %d bytes, at most %d are allowed", len(raw), graph.MaxProperties))
		return nil, nil
	}
	return raw, nil
}

// idOrNew returns the id that the client chose, or a new one.
func (p *payloadReader) idOrNew(text *string) uuid.UUID {
	if text == nil {
		return newID()
	}
	id, ok := request.ParseUUID(*text)
	if !ok {
		p.fail("payload.id", "must be a UUID")
	}
	return id
}

// existingID parses the id of something that must exist already. For a text that is not a
// UUID it returns a new id, which nothing has, so that the command fails as not found when
// it is decided.
func existingID(text string) uuid.UUID {
	if id, ok := request.ParseUUID(text); ok {
		return id
	}
	return newID()
}

// newID creates a UUID of version 7: the ids of one process are in chronological order.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
