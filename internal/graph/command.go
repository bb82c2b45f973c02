package graph

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Type is the type of a command, as the API names it.
type Type string

// The types of commands. TypeBatch is the type of the change of an atomic batch. No change
// has the type of an upsert: see [Effect].
const (
	TypeCreateNode Type = "CREATE_NODE"
	TypeUpdateNode Type = "UPDATE_NODE"
	TypeDeleteNode Type = "DELETE_NODE"
	TypeCreateEdge Type = "CREATE_EDGE"
	TypeUpdateEdge Type = "UPDATE_EDGE"
	TypeDeleteEdge Type = "DELETE_EDGE"
	TypeUpsertNode Type = "UPSERT_NODE"
	TypeUpsertEdge Type = "UPSERT_EDGE"
	TypeUndo       Type = "UNDO"
	TypeRedo       Type = "REDO"
	TypeBatch      Type = "BATCH"
)

// Origin identifies who sent a command, and with what authority. The authority is that
// at the time when the command was accepted.
type Origin struct {
	Actor      uuid.UUID // whose undo stack the command is pushed to
	Scopes     []string
	AcceptedAt time.Time
	RequestID  string
}

// Action is what a command does.
type Action struct {
	Payload         Payload
	ExpectedVersion *int64 // on updates and deletions: the action is refused if the version differs
}

// Command is one command on a workspace's graph.
type Command struct {
	ID uuid.UUID
	Origin
	Action
}

// Batch is an atomic batch: all of its actions are applied or none. It has one sequence
// and one change, which is undone as a whole. (The commands of a batch that is not atomic
// are separate commands.)
type Batch struct {
	ID uuid.UUID
	Origin
	Actions []Action
}

// Payload has the parameters of a command: one of the types below.
type Payload interface {
	Type() Type
	check() error
}

// CreateNode creates a node. Properties and Description may be nil.
type CreateNode struct {
	ID          uuid.UUID
	Name        string
	EntityType  EntityType
	Description *string
	Properties  jsontext.Value // a JSON object
}

// UpdateNode changes a node. Fields that are nil stay unchanged; at least one is required.
type UpdateNode struct {
	ID               uuid.UUID
	Name             *string
	EntityType       *EntityType
	Description      *string
	ClearDescription bool           // with Description nil: removes the description
	Properties       jsontext.Value // a JSON Merge Patch (RFC 7396)
}

// DeleteNode deletes a node and its edges.
type DeleteNode struct{ ID uuid.UUID }

// CreateEdge creates an edge between two live nodes, or from a live node to itself.
type CreateEdge struct {
	ID           uuid.UUID
	SourceID     uuid.UUID
	TargetID     uuid.UUID
	RelationType string
	Properties   jsontext.Value // a JSON object
}

// UpdateEdge changes an edge. Fields that are nil stay unchanged; at least one is required.
type UpdateEdge struct {
	ID           uuid.UUID
	RelationType *string
	Properties   jsontext.Value // a JSON Merge Patch (RFC 7396)
}

// DeleteEdge deletes an edge.
type DeleteEdge struct{ ID uuid.UUID }

// Undo cancels a command that is in effect.
type Undo struct{ Pick }

// Redo restores a cancelled command.
type Redo struct{ Pick }

// Pick selects the command to undo or redo: the last of the actor, the last of the whole
// workspace, or the one with an id.
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

// Validate validates an action without regard to the state. The error is a fault that
// names the field.
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

// Validate validates a batch without regard to the state. In a fault, the field of an
// action is prefixed with its index, as in "commands[3].payload.name".
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
