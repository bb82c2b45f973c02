package graphrecord

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// Mode is how the commands of a request are applied.
type Mode uint8

// The modes.
const (
	Single   Mode = Mode(eventsv1.Mode_MODE_SINGLE)   // one command
	Atomic   Mode = Mode(eventsv1.Mode_MODE_ATOMIC)   // a batch: all or none, one change, one undo step
	Separate Mode = Mode(eventsv1.Mode_MODE_SEPARATE) // a batch: each command independently
)

// Request is one request of a client: a record of topic graph.commands.
type Request struct {
	Workspace uuid.UUID
	graph.Origin
	Mode Mode
	// ID is the id of the command or the batch. The outcome is stored under it.
	ID uuid.UUID
	// Actions has one action, or those of the batch in order.
	Actions []graph.Action
	// CommandIDs has the id of each action of a Separate batch; otherwise it is nil.
	CommandIDs []uuid.UUID
}

// Commands returns the commands of a request that is Single or Separate.
func (r *Request) Commands() []graph.Command {
	commands := make([]graph.Command, len(r.Actions))
	for i, action := range r.Actions {
		commands[i] = graph.Command{ID: r.ID, Origin: r.Origin, Action: action}
		if r.CommandIDs != nil {
			commands[i].ID = r.CommandIDs[i]
		}
	}
	return commands
}

// Batch returns the batch of a request that is Atomic.
func (r *Request) Batch() graph.Batch {
	return graph.Batch{ID: r.ID, Origin: r.Origin, Actions: r.Actions}
}

// EncodeRequest encodes the value of a record of topic graph.commands.
func EncodeRequest(r *Request) ([]byte, error) {
	record := &eventsv1.CommandRecord{
		WorkspaceId: bytesOf(r.Workspace), ActorId: bytesOf(r.Actor), Scopes: r.Scopes,
		AcceptedAtUs: r.AcceptedAt.UnixMicro(),
		RequestId:    r.RequestID, Mode: eventsv1.Mode(r.Mode), Commands: make([]*eventsv1.Command, len(r.Actions)),
	}
	if r.Mode != Single {
		record.BatchId = bytesOf(r.ID)
	}
	for i, action := range r.Actions {
		command, err := fromAction(action)
		if err != nil {
			return nil, err
		}
		switch r.Mode {
		case Single:
			command.Id = bytesOf(r.ID)
		case Separate:
			command.Id = bytesOf(r.CommandIDs[i])
		}
		record.Commands[i] = command
	}
	encoded, err := proto.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encoding a request: %w", err)
	}
	return encoded, nil
}

// DecodeRequest decodes the value of a record of topic graph.commands. It does not
// validate the actions: Apply and ApplyBatch of internal/graph do.
func DecodeRequest(encoded []byte) (*Request, error) {
	var record eventsv1.CommandRecord
	if err := proto.Unmarshal(encoded, &record); err != nil {
		return nil, fmt.Errorf("decoding a request: %w", err)
	}
	r := reader{}
	request := &Request{
		Workspace: r.id(record.GetWorkspaceId()), Mode: Mode(record.GetMode()),
		Origin: graph.Origin{
			Actor: r.id(record.GetActorId()), Scopes: record.GetScopes(), AcceptedAt: at(record.GetAcceptedAtUs()),
			RequestID: record.GetRequestId(),
		},
		Actions: make([]graph.Action, len(record.GetCommands())),
	}
	for i, command := range record.GetCommands() {
		request.Actions[i] = r.action(command)
	}
	r.identify(request, &record)
	if r.err != nil {
		return nil, fmt.Errorf("reading request %s: %w", record.GetRequestId(), r.err)
	}
	return request, nil
}

// Errors of invalid requests.
var (
	errMode    = errors.New("the mode is unknown")
	errSingle  = errors.New("mode single requires exactly one command")
	errPayload = errors.New("a command has no known payload")
	errNoID    = errors.New("an id is set that the mode does not allow")
)

// identify reads the ids that the mode requires, and fails if others are set.
func (r *reader) identify(request *Request, record *eventsv1.CommandRecord) {
	var ids []uuid.UUID
	for _, command := range record.GetCommands() {
		switch {
		case request.Mode != Atomic:
			ids = append(ids, r.id(command.GetId()))
		case len(command.GetId()) > 0:
			r.fail(errNoID)
		}
	}
	switch request.Mode {
	case Single:
		if len(ids) != 1 {
			r.fail(errSingle)
			return
		}
		if request.ID = ids[0]; len(record.GetBatchId()) > 0 {
			r.fail(errNoID)
		}
	case Atomic:
		request.ID = r.id(record.GetBatchId())
	case Separate:
		request.ID, request.CommandIDs = r.id(record.GetBatchId()), ids
	default:
		r.fail(errMode)
	}
}

func fromAction(a graph.Action) (*eventsv1.Command, error) {
	record := &eventsv1.Command{ExpectedVersion: a.ExpectedVersion}
	switch p := a.Payload.(type) {
	case graph.CreateNode:
		record.Payload = &eventsv1.Command_CreateNode{CreateNode: &eventsv1.CreateNode{
			Id: bytesOf(p.ID), Name: p.Name, EntityType: string(p.EntityType), Description: p.Description,
			Properties: p.Properties,
		}}
	case graph.UpdateNode:
		record.Payload = &eventsv1.Command_UpdateNode{UpdateNode: &eventsv1.UpdateNode{
			Id: bytesOf(p.ID), Name: p.Name, EntityType: (*string)(p.EntityType), Description: p.Description,
			ClearDescription: p.ClearDescription, Properties: p.Properties,
		}}
	case graph.DeleteNode:
		record.Payload = &eventsv1.Command_DeleteNode{DeleteNode: &eventsv1.DeleteNode{Id: bytesOf(p.ID)}}
	case graph.CreateEdge:
		record.Payload = &eventsv1.Command_CreateEdge{CreateEdge: &eventsv1.CreateEdge{
			Id: bytesOf(p.ID), SourceId: bytesOf(p.SourceID), TargetId: bytesOf(p.TargetID), RelationType: p.RelationType,
			Properties: p.Properties,
		}}
	case graph.UpdateEdge:
		record.Payload = &eventsv1.Command_UpdateEdge{UpdateEdge: &eventsv1.UpdateEdge{
			Id: bytesOf(p.ID), RelationType: p.RelationType, Properties: p.Properties,
		}}
	case graph.DeleteEdge:
		record.Payload = &eventsv1.Command_DeleteEdge{DeleteEdge: &eventsv1.DeleteEdge{Id: bytesOf(p.ID)}}
	case graph.UpsertNode:
		record.Payload = &eventsv1.Command_UpsertNode{UpsertNode: &eventsv1.UpsertNode{
			Id: bytesOf(p.ID), Key: fromKey(p.Key), Name: p.Name, Description: p.Description,
			ClearDescription: p.ClearDescription, Properties: p.Properties,
		}}
	case graph.UpsertEdge:
		record.Payload = &eventsv1.Command_UpsertEdge{UpsertEdge: &eventsv1.UpsertEdge{
			Id: bytesOf(p.ID), Source: fromNodeRef(p.Source), Target: fromNodeRef(p.Target), RelationType: p.RelationType,
			Properties: p.Properties,
		}}
	case graph.Undo:
		record.Payload = &eventsv1.Command_Undo{Undo: fromPick(p.Pick)}
	case graph.Redo:
		record.Payload = &eventsv1.Command_Redo{Redo: fromPick(p.Pick)}
	default:
		return nil, fmt.Errorf("encoding a request: %T is no payload", a.Payload)
	}
	return record, nil
}

func fromKey(k graph.NodeKey) *eventsv1.NodeKey {
	return &eventsv1.NodeKey{EntityType: string(k.EntityType), Property: k.Property, Value: k.Value}
}

func fromNodeRef(r graph.NodeRef) *eventsv1.NodeRef {
	if r.Key != nil {
		return &eventsv1.NodeRef{By: &eventsv1.NodeRef_Key{Key: fromKey(*r.Key)}}
	}
	return &eventsv1.NodeRef{By: &eventsv1.NodeRef_Id{Id: bytesOf(r.ID)}}
}

func fromPick(p graph.Pick) *eventsv1.Pick {
	record := &eventsv1.Pick{Workspace: p.Workspace}
	if p.CommandID != uuid.Nil {
		record.CommandId = bytesOf(p.CommandID)
	}
	return record
}

func (r *reader) action(record *eventsv1.Command) graph.Action {
	a := graph.Action{ExpectedVersion: record.ExpectedVersion}
	switch p := record.GetPayload().(type) {
	case *eventsv1.Command_CreateNode:
		c := p.CreateNode
		a.Payload = graph.CreateNode{
			ID: r.id(c.GetId()), Name: c.GetName(), EntityType: graph.EntityType(c.GetEntityType()), Description: c.Description,
			Properties: raw(c.GetProperties()),
		}
	case *eventsv1.Command_UpdateNode:
		c := p.UpdateNode
		a.Payload = graph.UpdateNode{
			ID: r.id(c.GetId()), Name: c.Name, EntityType: (*graph.EntityType)(c.EntityType), Description: c.Description,
			ClearDescription: c.GetClearDescription(), Properties: raw(c.GetProperties()),
		}
	case *eventsv1.Command_DeleteNode:
		a.Payload = graph.DeleteNode{ID: r.id(p.DeleteNode.GetId())}
	case *eventsv1.Command_CreateEdge:
		c := p.CreateEdge
		a.Payload = graph.CreateEdge{
			ID: r.id(c.GetId()), SourceID: r.id(c.GetSourceId()), TargetID: r.id(c.GetTargetId()),
			RelationType: c.GetRelationType(), Properties: raw(c.GetProperties()),
		}
	case *eventsv1.Command_UpdateEdge:
		c := p.UpdateEdge
		a.Payload = graph.UpdateEdge{ID: r.id(c.GetId()), RelationType: c.RelationType, Properties: raw(c.GetProperties())}
	case *eventsv1.Command_DeleteEdge:
		a.Payload = graph.DeleteEdge{ID: r.id(p.DeleteEdge.GetId())}
	case *eventsv1.Command_UpsertNode:
		c := p.UpsertNode
		a.Payload = graph.UpsertNode{
			ID: r.id(c.GetId()), Key: toKey(c.GetKey()), Name: c.Name, Description: c.Description,
			ClearDescription: c.GetClearDescription(), Properties: raw(c.GetProperties()),
		}
	case *eventsv1.Command_UpsertEdge:
		c := p.UpsertEdge
		a.Payload = graph.UpsertEdge{
			ID: r.id(c.GetId()), Source: r.nodeRef(c.GetSource()), Target: r.nodeRef(c.GetTarget()),
			RelationType: c.GetRelationType(), Properties: raw(c.GetProperties()),
		}
	case *eventsv1.Command_Undo:
		a.Payload = graph.Undo{Pick: r.pick(p.Undo)}
	case *eventsv1.Command_Redo:
		a.Payload = graph.Redo{Pick: r.pick(p.Redo)}
	default:
		r.fail(errPayload)
	}
	return a
}

func toKey(k *eventsv1.NodeKey) graph.NodeKey {
	return graph.NodeKey{
		EntityType: graph.EntityType(k.GetEntityType()), Property: k.GetProperty(), Value: k.GetValue(),
	}
}

func (r *reader) nodeRef(record *eventsv1.NodeRef) graph.NodeRef {
	if key := record.GetKey(); key != nil {
		k := toKey(key)
		return graph.NodeRef{Key: &k}
	}
	return graph.NodeRef{ID: r.id(record.GetId())}
}

func (r *reader) pick(record *eventsv1.Pick) graph.Pick {
	p := graph.Pick{Workspace: record.GetWorkspace()}
	if len(record.GetCommandId()) > 0 {
		p.CommandID = r.id(record.GetCommandId())
	}
	return p
}

// raw converts a JSON value of a record; nil: none.
func raw(encoded []byte) jsontext.Value {
	if len(encoded) == 0 {
		return nil
	}
	return encoded
}
