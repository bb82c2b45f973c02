package commands

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// upsertNode and the following types are the JSON form of the payloads of upserts.
type upsertNode struct {
	Key         jsontext.Value           `json:"key"`
	EntityType  *string                  `json:"entityType"`
	Name        *string                  `json:"name"`
	Description request.Nullable[string] `json:"description"`
	Properties  jsontext.Value           `json:"properties"`
}

type upsertEdge struct {
	SourceID     *string        `json:"sourceId"`
	Source       jsontext.Value `json:"source"`
	TargetID     *string        `json:"targetId"`
	Target       jsontext.Value `json:"target"`
	RelationType *string        `json:"relationType"`
	Properties   jsontext.Value `json:"properties"`
}

// keyedNode names an existing node by its key.
type keyedNode struct {
	Key        jsontext.Value `json:"key"`
	EntityType *string        `json:"entityType"`
}

func (p *payloadReader) upsertNode() (graph.Payload, error) {
	var body upsertNode
	if err := p.decode(&body); err != nil {
		return nil, err
	}
	p.check.Required("payload.key", body.Key != nil)
	p.check.Required("payload.entityType", body.EntityType != nil)
	if err := p.check.Err(); err != nil {
		return nil, err
	}
	key, err := p.key(body.Key, "payload.key", *body.EntityType)
	if err != nil {
		return nil, err
	}
	properties, err := p.properties(body.Properties)
	if err != nil {
		return nil, err
	}
	node := graph.UpsertNode{
		ID: newID(), Key: key, Name: body.Name, ClearDescription: body.Description.Null, Properties: properties,
	}
	if body.Description.Set && !body.Description.Null {
		node.Description = &body.Description.Value
	}
	return node, nil
}

func (p *payloadReader) upsertEdge() (graph.Payload, error) {
	var body upsertEdge
	if err := p.decode(&body); err != nil {
		return nil, err
	}
	p.check.Required("payload.sourceId", body.SourceID != nil || body.Source != nil)
	p.check.Required("payload.targetId", body.TargetID != nil || body.Target != nil)
	p.check.Required("payload.relationType", body.RelationType != nil)
	if err := p.check.Err(); err != nil {
		return nil, err
	}
	source, err := p.nodeRef(body.SourceID, body.Source, "payload.source")
	if err != nil {
		return nil, err
	}
	target, err := p.nodeRef(body.TargetID, body.Target, "payload.target")
	if err != nil {
		return nil, err
	}
	properties, err := p.properties(body.Properties)
	if err != nil {
		return nil, err
	}
	return graph.UpsertEdge{
		ID: newID(), Source: source, Target: target, RelationType: *body.RelationType, Properties: properties,
	}, nil
}

// nodeRef parses the node at an end of an edge, which has an id or a key.
func (p *payloadReader) nodeRef(id *string, raw jsontext.Value, field string) (graph.NodeRef, error) {
	if raw == nil {
		return graph.NodeRef{ID: existingID(*id)}, nil
	}
	if raw.Kind() != '{' {
		return graph.NodeRef{}, fault.Field(fault.Malformed, field, "must be an object")
	}
	var body keyedNode
	if err := request.DecodePart(raw, field, &body); err != nil {
		return graph.NodeRef{}, err
	}
	p.check.Required(field+".key", body.Key != nil)
	p.check.Required(field+".entityType", body.EntityType != nil)
	if err := p.check.Err(); err != nil {
		return graph.NodeRef{}, err
	}
	if id != nil {
		p.fail(field, "goes without "+field[len(payloadPath)+1:]+"Id")
		return graph.NodeRef{ID: uuid.Nil}, nil
	}
	key, err := p.key(body.Key, field+".key", *body.EntityType)
	return graph.NodeRef{Key: &key}, err
}

// key parses a key: an object with one property.
func (p *payloadReader) key(raw jsontext.Value, field, entityType string) (key graph.NodeKey, err error) {
	if raw.Kind() != '{' {
		return key, fault.Field(fault.Malformed, field, "must be an object")
	}
	var members map[string]jsontext.Value
	if err := request.DecodePart(raw, field, &members); err != nil {
		return key, err
	}
	if len(members) != 1 {
		p.fail(field, "must have exactly one property")
		return key, nil
	}
	for property, value := range members {
		var invalid error
		if key, invalid = graph.ParseNodeKey(graph.EntityType(entityType), property, value, field); invalid != nil &&
			p.invalid == nil {
			p.invalid = invalid
		}
	}
	return key, nil
}
