package pipelineadmin

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// payloadFields returns a command's payload as in the API.
func payloadFields(payload graph.Payload) map[string]any {
	shown := fields{}
	switch p := payload.(type) {
	case graph.CreateNode:
		shown["id"], shown["name"], shown["entityType"] = p.ID, p.Name, p.EntityType
		add(shown, "description", p.Description)
		shown.addProperties(p.Properties)
	case graph.UpdateNode:
		shown["id"] = p.ID
		add(shown, "name", p.Name)
		add(shown, "entityType", p.EntityType)
		add(shown, "description", p.Description)
		if p.ClearDescription {
			shown["description"] = nil
		}
		shown.addProperties(p.Properties)
	case graph.CreateEdge:
		shown["id"], shown["relationType"] = p.ID, p.RelationType
		shown["sourceId"], shown["targetId"] = p.SourceID, p.TargetID
		shown.addProperties(p.Properties)
	case graph.UpdateEdge:
		shown["id"] = p.ID
		add(shown, "relationType", p.RelationType)
		shown.addProperties(p.Properties)
	case graph.DeleteNode:
		shown["id"] = p.ID
	case graph.DeleteEdge:
		shown["id"] = p.ID
	case graph.UpsertNode:
		shown.addUpsertNode(p)
	case graph.UpsertEdge:
		shown["relationType"] = p.RelationType
		shown.addNode("source", p.Source)
		shown.addNode("target", p.Target)
		shown.addProperties(p.Properties)
	case graph.Undo:
		shown.addPick(p.Pick)
	case graph.Redo:
		shown.addPick(p.Pick)
	}
	return shown
}

// fields are the JSON fields of a payload.
type fields map[string]any

// add sets the field unless value is nil.
func add[T any](f fields, name string, value *T) {
	if value != nil {
		f[name] = *value
	}
}

func (f fields) addUpsertNode(p graph.UpsertNode) {
	f.addKey(p.Key)
	add(f, "name", p.Name)
	add(f, "description", p.Description)
	if p.ClearDescription {
		f["description"] = nil
	}
	f.addProperties(p.Properties)
}

func (f fields) addKey(key graph.NodeKey) {
	f["entityType"] = key.EntityType
	f["key"] = map[string]any{key.Property: jsonText([]byte(key.Value))}
}

// addNode adds the node at an end of an edge.
func (f fields) addNode(end string, r graph.NodeRef) {
	if r.Key == nil {
		f[end+"Id"] = r.ID
		return
	}
	node := fields{}
	node.addKey(*r.Key)
	f[end] = node
}

func (f fields) addProperties(properties []byte) {
	if properties != nil {
		f["properties"] = jsonText(properties)
	}
}

func (f fields) addPick(p graph.Pick) {
	switch {
	case p.CommandID != uuid.Nil:
		f["commandId"] = p.CommandID
	case p.Workspace:
		f["scope"] = "workspace"
	default:
		f["scope"] = "mine"
	}
}
