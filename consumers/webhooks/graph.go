package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// payloadReserve is how much the fields of an event around its data take at most.
const payloadReserve = 1 << 10 // bytes

// changeData is the data of an event of a graph.
type changeData struct {
	Sequence  int64     `json:"sequence"` // of the change
	CommandID uuid.UUID `json:"commandId"`
	ActorID   uuid.UUID `json:"actorId"`
	// Truncated reports that the resource has no properties and no description here, because they are too large.
	Truncated bool      `json:"truncated,omitzero"`
	Node      *nodeData `json:"node,omitzero"`
	Edge      *edgeData `json:"edge,omitzero"`
	// CascadeOf is the node with which the edge was deleted or restored.
	CascadeOf *uuid.UUID `json:"cascadeOf,omitzero"`
}

// nodeData is a node after a change.
type nodeData struct {
	ID          uuid.UUID       `json:"id"`
	Name        string          `json:"name"`
	EntityType  string          `json:"entityType"`
	Description *string         `json:"description"`
	Properties  json.RawMessage `json:"properties"`
	CreatedAt   time.Time       `json:"createdAt"`
	UpdatedAt   time.Time       `json:"updatedAt"`
	Version     int64           `json:"version"`
}

// edgeData is an edge after a change. An edge that was deleted or restored with a node has only its ends and its type.
type edgeData struct {
	ID           uuid.UUID       `json:"id"`
	SourceID     uuid.UUID       `json:"sourceId,omitzero"`
	TargetID     uuid.UUID       `json:"targetId,omitzero"`
	RelationType string          `json:"relationType,omitzero"`
	Properties   json.RawMessage `json:"properties,omitzero"`
	CreatedAt    time.Time       `json:"createdAt,omitzero"`
	UpdatedAt    time.Time       `json:"updatedAt,omitzero"`
	Version      int64           `json:"version,omitzero"`
}

// change is a change of a graph.
type change struct {
	workspace  uuid.UUID
	sequence   int64
	record     *eventsv1.Change
	subscribed []string // types of events
	logger     *slog.Logger
}

// base returns the data that all events of the change have.
func (c *change) base() changeData {
	return changeData{
		Sequence: c.sequence, CommandID: idOf(c.record.GetCommandId()), ActorID: idOf(c.record.GetActorId()),
	}
}

func (c *change) time() time.Time { return time.UnixMicro(c.record.GetAtUs()).UTC() }

// id returns the id of an event of the change. The time is included because a graph that is restored from a backup
// uses sequences again.
func (c *change) id(parts ...any) uuid.UUID {
	return hooks.EventID(append([]any{c.workspace, c.sequence, c.record.GetAtUs()}, parts...)...)
}

// idOf returns an id of a record; the zero id if it is not valid.
func idOf(raw []byte) uuid.UUID {
	id, _ := uuid.FromBytes(raw)
	return id
}

// eventType returns the type of the event of a step, empty if it is none. A resource that is restored is created for
// receivers. In an UNDO or REDO, the type of a step is that of the command whose effect is taken back or repeated.
func eventType(kind, stepType string, deleted bool) string {
	updates := strings.HasPrefix(stepType, "UPDATE_")
	switch {
	case updates && deleted: // of a deleted resource
		return ""
	case updates:
		return kind + ".updated"
	case deleted:
		return kind + ".deleted"
	default:
		return kind + ".created"
	}
}

// stepEvent returns the event of the resource of a step, if a webhook is subscribed to it.
func (c *change) stepEvent(index int, s *eventsv1.Step) (event hooks.Event, ok bool, err error) {
	data := c.base()
	switch n, e := s.GetNode(), s.GetEdge(); {
	case n != nil:
		event.Type, event.EntityType = eventType("node", s.GetType(), n.GetLife().GetDeleted()), n.GetEntityType()
		event.Nodes = []uuid.UUID{idOf(n.GetId())}
		data.Node = &nodeData{
			ID: idOf(n.GetId()), Name: n.GetName(), EntityType: n.GetEntityType(), Description: n.Description,
			Properties: object(n.GetProperties()), CreatedAt: micros(n.GetLife().GetCreatedAtUs()),
			UpdatedAt: micros(n.GetLife().GetUpdatedAtUs()), Version: n.GetLife().GetVersion(),
		}
	case e != nil:
		event.Type, event.RelationType = eventType("edge", s.GetType(), e.GetLife().GetDeleted()), e.GetRelationType()
		event.Nodes = []uuid.UUID{idOf(e.GetSourceId()), idOf(e.GetTargetId())}
		data.Edge = &edgeData{
			ID: idOf(e.GetId()), SourceID: idOf(e.GetSourceId()), TargetID: idOf(e.GetTargetId()),
			RelationType: e.GetRelationType(), Properties: object(e.GetProperties()),
			CreatedAt: micros(e.GetLife().GetCreatedAtUs()), UpdatedAt: micros(e.GetLife().GetUpdatedAtUs()),
			Version: e.GetLife().GetVersion(),
		}
	}
	if !slices.Contains(c.subscribed, event.Type) {
		return event, false, nil
	}
	event.ID, event.Time = c.id(index), c.time()
	event.Data, err = encodeBounded(&data)
	return event, err == nil, err
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// object returns properties, which are empty in a record without any.
func object(properties []byte) json.RawMessage {
	if len(properties) == 0 {
		return json.RawMessage("{}")
	}
	return properties
}

// encodeBounded encodes the data of an event, without what is large if it is too large for a delivery.
func encodeBounded(data *changeData) (json.RawMessage, error) {
	encoded, err := json.Marshal(data)
	if err == nil && len(encoded) > hooks.MaxPayload-payloadReserve {
		data.Truncated = true
		if data.Node != nil {
			data.Node.Description, data.Node.Properties = nil, object(nil)
		} else if data.Edge != nil {
			data.Edge.Properties = object(nil)
		}
		encoded, err = json.Marshal(data)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the data of an event: %w", err)
	}
	return encoded, nil
}

// appendEvents appends the events of the change from a place on, until there are limit events. It returns the place at
// which it ended, or -1 at the end of the change. Each step has a place, and after it each edge of its cascade.
func (c *change) appendEvents(
	ctx context.Context, store cascadeReader, events *[]hooks.Event, limit int, from int64,
) (place int64, err error) {
	for index, step := range c.record.GetSteps() {
		if place >= from {
			if len(*events) >= limit {
				return place, nil
			}
			event, ok, err := c.stepEvent(index, step)
			if err != nil { // a retry does not help
				c.logger.Error("an event cannot be encoded and is passed over", "workspace", c.workspace,
					"sequence", c.sequence, "error", err)
			}
			if ok {
				*events = append(*events, event)
			}
		}
		place++
		edges := step.GetCascade().GetCount()
		for first := max(from-place, 0); first < edges; {
			room := int64(limit - len(*events))
			if room <= 0 {
				return place + first, nil
			}
			next := min(first+room, edges)
			found, err := c.cascadeEvents(ctx, store, step, first, next)
			if err != nil {
				return place, err
			}
			*events = append(*events, found...)
			first = next
		}
		place += edges
	}
	return -1, nil
}

// cascadeReader reads edges, also deleted ones; see storage/postgres/graphread.
type cascadeReader interface {
	EdgeEnds(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) ([]graphread.EdgeEnds, error)
	CascadeEdges(
		ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
	) ([]uuid.UUID, error)
}

// cascadeIDs returns the ids of edges of a step's cascade. A long cascade is not in the record.
func (c *change) cascadeIDs(
	ctx context.Context, store cascadeReader, s *eventsv1.Step, from, to int64,
) (ids []uuid.UUID, err error) {
	listed := s.GetCascade().GetEdgeIds()
	if int64(len(listed)) < s.GetCascade().GetCount() {
		return store.CascadeEdges(ctx, c.workspace, c.sequence, idOf(s.GetNode().GetId()), from, to)
	}
	for _, raw := range listed[from:to] {
		ids = append(ids, idOf(raw))
	}
	return ids, nil
}

// cascadeEvents returns the events of edges that were deleted or restored with the node of a step. Of an edge that no
// longer exists only the id is known.
func (c *change) cascadeEvents(
	ctx context.Context, edges cascadeReader, s *eventsv1.Step, from, to int64,
) ([]hooks.Event, error) {
	kind := hooks.EdgeDeleted
	if s.GetCascade().GetRestored() {
		kind = hooks.EdgeCreated
	}
	if !slices.Contains(c.subscribed, kind) {
		return nil, nil
	}
	ids, err := c.cascadeIDs(ctx, edges, s, from, to)
	if err != nil {
		return nil, err
	}
	known, err := edges.EdgeEnds(ctx, c.workspace, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]*graphread.EdgeEnds, len(known))
	for i := range known {
		byID[known[i].ID] = &known[i]
	}
	node := idOf(s.GetNode().GetId())
	events := make([]hooks.Event, 0, len(ids))
	for _, id := range ids {
		data := c.base()
		data.Edge, data.CascadeOf = &edgeData{ID: id}, &node
		if e := byID[id]; e != nil {
			data.Edge.SourceID, data.Edge.TargetID, data.Edge.RelationType = e.SourceID, e.TargetID, e.RelationType
		}
		events = append(events, hooks.Event{
			ID: c.id(kind, node, id), Type: kind, Time: c.time(), Data: &data, RelationType: data.Edge.RelationType,
			Nodes: []uuid.UUID{data.Edge.SourceID, data.Edge.TargetID, node},
		})
	}
	return events, nil
}
