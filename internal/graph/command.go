package graph

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Type names a command as the interface does.
type Type string

// The types of command. TypeBatch is that of a change that an atomic batch made.
const (
	TypeCreateNode Type = "CREATE_NODE"
	TypeUpdateNode Type = "UPDATE_NODE"
	TypeDeleteNode Type = "DELETE_NODE"
	TypeCreateEdge Type = "CREATE_EDGE"
	TypeUpdateEdge Type = "UPDATE_EDGE"
	TypeDeleteEdge Type = "DELETE_EDGE"
	TypeUndo       Type = "UNDO"
	TypeRedo       Type = "REDO"
	TypeBatch      Type = "BATCH"
)

// Origin says who asked for a command and with what authority. The authority is
// that of the moment at which the command was accepted.
type Origin struct {
	Actor      uuid.UUID // whose undo stack it goes to
	Scopes     []string
	AcceptedAt time.Time
	RequestID  string
}

// Action is what a command does.
type Action struct {
	Payload         Payload
	ExpectedVersion *int64 // on updates and deletions: refused if the version is another
}

// Command is one command on a workspace's graph.
type Command struct {
	ID uuid.UUID
	Origin
	Action
}

// Batch is an atomic batch: all of its actions or none, with one sequence, in one
// change that is undone as one. (The commands of a batch that is not atomic are
// their own commands.)
type Batch struct {
	ID uuid.UUID
	Origin
	Actions []Action
}

// Payload is what a type of command needs to know: one of the types below.
type Payload interface {
	Type() Type
	check() error
}

// CreateNode makes a node. Nil properties and description are none.
type CreateNode struct {
	ID          uuid.UUID
	Name        string
	EntityType  EntityType
	Description *string
	Properties  jsontext.Value // a JSON object
}

// UpdateNode changes a node; what is nil stays. It needs at least one field.
type UpdateNode struct {
	ID               uuid.UUID
	Name             *string
	EntityType       *EntityType
	Description      *string
	ClearDescription bool           // with Description nil: there is none from now on
	Properties       jsontext.Value // a JSON Merge Patch (RFC 7396)
}

// DeleteNode deletes a node and its edges.
type DeleteNode struct{ ID uuid.UUID }

// CreateEdge makes an edge between two nodes that stand, or one and itself.
type CreateEdge struct {
	ID           uuid.UUID
	SourceID     uuid.UUID
	TargetID     uuid.UUID
	RelationType string
	Properties   jsontext.Value // a JSON object
}

// UpdateEdge changes an edge; what is nil stays. It needs at least one field.
type UpdateEdge struct {
	ID           uuid.UUID
	RelationType *string
	Properties   jsontext.Value // a JSON Merge Patch (RFC 7396)
}

// DeleteEdge deletes an edge.
type DeleteEdge struct{ ID uuid.UUID }

// Undo cancels a command that stands.
type Undo struct{ Pick }

// Redo restores a cancelled command.
type Redo struct{ Pick }

// Pick says which command to undo or redo: the actor's last, the last of the
// whole workspace, or the one with an id.
type Pick struct {
	Workspace bool
	CommandID uuid.UUID // uuid.Nil: the last
}

// Type reports which command the payload is for.
func (CreateNode) Type() Type { return TypeCreateNode }

// Type reports which command the payload is for.
func (UpdateNode) Type() Type { return TypeUpdateNode }

// Type reports which command the payload is for.
func (DeleteNode) Type() Type { return TypeDeleteNode }

// Type reports which command the payload is for.
func (CreateEdge) Type() Type { return TypeCreateEdge }

// Type reports which command the payload is for.
func (UpdateEdge) Type() Type { return TypeUpdateEdge }

// Type reports which command the payload is for.
func (DeleteEdge) Type() Type { return TypeDeleteEdge }

// Type reports which command the payload is for.
func (Undo) Type() Type { return TypeUndo }

// Type reports which command the payload is for.
func (Redo) Type() Type { return TypeRedo }

// Validate reports what is wrong with an action whatever the state: an Invalid fault
// that names the field.
func (a Action) Validate() error {
	if a.Payload == nil {
		return fault.Field(fault.Malformed, "payload", "is missing")
	}
	if err := a.Payload.check(); err != nil {
		return err
	}
	if a.ExpectedVersion == nil {
		return nil
	}
	switch a.Payload.(type) {
	case UpdateNode, DeleteNode, UpdateEdge, DeleteEdge:
	default:
		return fault.Field(fault.Invalid, "expectedVersion", "is for updates and deletions only")
	}
	if *a.ExpectedVersion < 1 {
		return fault.Field(fault.Invalid, "expectedVersion", "must be at least 1")
	}
	return nil
}

// Validate reports what is wrong with a batch whatever the state; the field of an
// action is prefixed with its place, as in "commands[3].payload.name".
func (b Batch) Validate() error {
	if len(b.Actions) == 0 || len(b.Actions) > MaxBatch {
		return fault.Field(fault.Invalid, "commands", fmt.Sprintf(
			"must have 1 to %d commands, has %d", MaxBatch, len(b.Actions),
		))
	}
	for i, action := range b.Actions {
		if err := action.validateInBatch(); err != nil {
			return atIndex(err, i)
		}
	}
	return nil
}

func (a Action) validateInBatch() error {
	switch a.Payload.(type) {
	case Undo, Redo:
		return fault.Field(fault.Invalid, "type", "is not allowed inside a batch")
	}
	return a.Validate()
}

func (p CreateNode) check() error {
	if err := checkText("payload.name", p.Name, MaxName); err != nil {
		return err
	}
	if err := checkEntityType(p.EntityType); err != nil {
		return err
	}
	if p.Description != nil {
		if err := checkDescription(*p.Description); err != nil {
			return err
		}
	}
	return checkProperties(p.Properties)
}

func (p UpdateNode) check() error {
	if p.Name == nil && p.EntityType == nil && p.Description == nil && !p.ClearDescription && p.Properties == nil {
		return fault.Field(
			fault.Invalid, "payload", "must change at least one field", "name", "entityType", "description", "properties",
		)
	}
	if p.Name != nil {
		if err := checkText("payload.name", *p.Name, MaxName); err != nil {
			return err
		}
	}
	if p.EntityType != nil {
		if err := checkEntityType(*p.EntityType); err != nil {
			return err
		}
	}
	if p.Description != nil {
		if err := checkDescription(*p.Description); err != nil {
			return err
		}
	}
	return checkProperties(p.Properties)
}

func (p CreateEdge) check() error {
	if err := checkText("payload.relationType", p.RelationType, MaxRelationType); err != nil {
		return err
	}
	return checkProperties(p.Properties)
}

func (p UpdateEdge) check() error {
	if p.RelationType == nil && p.Properties == nil {
		return fault.Field(fault.Invalid, "payload", "must change at least one field", "relationType", "properties")
	}
	if p.RelationType != nil {
		if err := checkText("payload.relationType", *p.RelationType, MaxRelationType); err != nil {
			return err
		}
	}
	return checkProperties(p.Properties)
}

func (DeleteNode) check() error { return nil }
func (DeleteEdge) check() error { return nil }

func (p Pick) check() error {
	if p.Workspace && p.CommandID != uuid.Nil {
		return fault.Field(fault.Invalid, "payload.scope", "goes without a commandId")
	}
	return nil
}
