// Package graphrecord converts the graph's commands, changes and outcomes to the
// records of package eventsv1 and back: those of topics "graph.commands" and
// "graph.events", of the journal, and of the outcomes of commands.
//
// Decoding does not trust its input: it validates what the domain relies on (ids have
// 16 bytes, a step has one resource), and returns an error otherwise; it never panics.
// It does not validate the limits of internal/graph, which are those of commands.
package graphrecord

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// EncodeChange encodes an entry of the journal.
func EncodeChange(c *graph.Change) ([]byte, error) {
	encoded, err := proto.Marshal(FromChange(c))
	if err != nil {
		return nil, fmt.Errorf("encoding change %d: %w", c.Sequence, err)
	}
	return encoded, nil
}

// DecodeChange decodes an entry of the journal.
func DecodeChange(encoded []byte) (*graph.Change, error) {
	var c eventsv1.Change
	if err := proto.Unmarshal(encoded, &c); err != nil {
		return nil, fmt.Errorf("decoding a change: %w", err)
	}
	return ToChange(&c)
}

// FromChange returns the record of a change. It shares bytes with the change.
func FromChange(c *graph.Change) *eventsv1.Change {
	record := &eventsv1.Change{
		Sequence: int64(c.Sequence), CommandId: bytesOf(c.CommandID), ActorId: bytesOf(c.Actor), Type: string(c.Type),
		AtUs: c.At.UnixMicro(), RequestId: c.RequestID, Target: FromTarget(c.Target),
	}
	if len(c.Steps) > 0 {
		record.Steps = make([]*eventsv1.Step, len(c.Steps))
	}
	for i := range c.Steps {
		record.Steps[i] = fromStep(&c.Steps[i])
	}
	return record
}

// ToChange returns the change of a record. It shares bytes with the record.
func ToChange(record *eventsv1.Change) (*graph.Change, error) {
	r := reader{}
	c := &graph.Change{
		Sequence: graph.Sequence(record.GetSequence()), CommandID: r.id(record.GetCommandId()),
		Actor: r.id(record.GetActorId()),
		Type:  graph.Type(record.GetType()), At: at(record.GetAtUs()), RequestID: record.GetRequestId(),
	}
	if t := record.GetTarget(); t != nil {
		c.Target = r.target(t)
	}
	if n := len(record.GetSteps()); n > 0 {
		c.Steps = make([]graph.Step, n)
	}
	for i, step := range record.GetSteps() {
		c.Steps[i] = r.step(step)
	}
	if r.err != nil {
		return nil, fmt.Errorf("reading change %d: %w", c.Sequence, r.err)
	}
	return c, nil
}

// FromTarget returns the record of the target of an UNDO or a REDO; nil for nil.
func FromTarget(t *graph.Target) *eventsv1.Target {
	if t == nil {
		return nil
	}
	return &eventsv1.Target{Sequence: int64(t.Sequence), CommandId: bytesOf(t.CommandID), Type: string(t.Type)}
}

func fromStep(s *graph.Step) *eventsv1.Step {
	record := &eventsv1.Step{Type: string(s.Type)}
	switch {
	case s.Node != nil:
		record.After = &eventsv1.Step_Node{Node: FromNode(s.Node)}
	case s.Edge != nil:
		record.After = &eventsv1.Step_Edge{Edge: FromEdge(s.Edge)}
	}
	if c := s.Cascade; c != nil {
		record.Cascade = &eventsv1.Cascade{
			Mark: fromMark(c.Mark), Restored: c.Restored, Count: c.Count, EdgeIds: BytesOfAll(c.Edges),
		}
	}
	if b := &s.Before; b.Fields != nil || b.Stamps != nil || b.Floor != 0 {
		record.Before = &eventsv1.Before{Fields: fromFields(b.Fields), Stamps: fromStamps(b.Stamps), Floor: int64(b.Floor)}
	}
	return record
}

func fromFields(fields map[string]graph.Field) map[string]*eventsv1.Field {
	if len(fields) == 0 {
		return nil
	}
	records := make(map[string]*eventsv1.Field, len(fields))
	for name, f := range fields {
		records[name] = &eventsv1.Field{Value: f.Value, Stamp: int64(f.Stamp)}
	}
	return records
}

// FromNode returns the record of a node. It shares bytes with the node.
func FromNode(n *graph.Node) *eventsv1.Node {
	return &eventsv1.Node{
		Id: bytesOf(n.ID), Name: n.Name, EntityType: string(n.EntityType), Description: n.Description,
		Properties: fromProperties(n.Properties), Life: fromLife(&n.Lifecycle),
	}
}

// FromEdge returns the record of an edge. It shares bytes with the edge.
func FromEdge(e *graph.Edge) *eventsv1.Edge {
	record := &eventsv1.Edge{
		Id: bytesOf(e.ID), SourceId: bytesOf(e.SourceID), TargetId: bytesOf(e.TargetID), RelationType: e.RelationType,
		Properties: fromProperties(e.Properties), Life: fromLife(&e.Lifecycle),
	}
	if e.Taken != (graph.Mark{}) {
		record.Taken = fromMark(e.Taken)
	}
	return record
}

func fromProperties(p graph.Properties) []byte {
	if len(p) == 0 {
		return nil
	}
	return p.Encode()
}

func fromLife(l *graph.Lifecycle) *eventsv1.Lifecycle {
	return &eventsv1.Lifecycle{
		CreatedAtUs: l.CreatedAt.UnixMicro(), UpdatedAtUs: l.UpdatedAt.UnixMicro(), Version: l.Version,
		ChangedBy: int64(l.ChangedBy), Deleted: l.Deleted, CreatedBy: int64(l.CreatedBy), DeletedBy: int64(l.DeletedBy),
		Stamps: fromStamps(l.Stamps), Floor: int64(l.Floor),
	}
}

func fromStamps(stamps map[string]graph.Sequence) map[string]int64 {
	if len(stamps) == 0 {
		return nil
	}
	numbers := make(map[string]int64, len(stamps))
	for field, s := range stamps {
		numbers[field] = int64(s)
	}
	return numbers
}

func fromMark(m graph.Mark) *eventsv1.Mark {
	return &eventsv1.Mark{Sequence: int64(m.Sequence), NodeId: bytesOf(m.Node)}
}

// BytesOfAll returns ids as records store them.
func BytesOfAll(ids []uuid.UUID) [][]byte {
	if len(ids) == 0 {
		return nil
	}
	all := make([][]byte, len(ids))
	for i := range ids {
		all[i] = ids[i][:]
	}
	return all
}

func bytesOf(id uuid.UUID) []byte { return id[:] }

// at converts a time of a record.
func at(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// Errors of invalid records.
var (
	errID    = errors.New("an id does not have 16 bytes")
	errAfter = errors.New("a step has no resource")
	errLife  = errors.New("a resource has no lifecycle")
)

// reader converts records and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) id(raw []byte) uuid.UUID {
	id, err := uuid.FromBytes(raw)
	if err != nil {
		r.fail(errID)
	}
	return id
}

func (r *reader) target(record *eventsv1.Target) *graph.Target {
	return &graph.Target{
		Sequence: graph.Sequence(record.GetSequence()), CommandID: r.id(record.GetCommandId()),
		Type: graph.Type(record.GetType()),
	}
}

func (r *reader) step(record *eventsv1.Step) graph.Step {
	s := graph.Step{Type: graph.Type(record.GetType())}
	switch after := record.GetAfter().(type) {
	case *eventsv1.Step_Node:
		s.Node = r.node(after.Node)
	case *eventsv1.Step_Edge:
		s.Edge = r.edge(after.Edge)
	default:
		r.fail(errAfter)
	}
	if c := record.GetCascade(); c != nil {
		s.Cascade = &graph.Cascade{Mark: r.mark(c.GetMark()), Restored: c.GetRestored(), Count: c.GetCount()}
		for _, raw := range c.GetEdgeIds() {
			s.Cascade.Edges = append(s.Cascade.Edges, r.id(raw))
		}
	}
	if b := record.GetBefore(); b != nil {
		s.Before = graph.Before{
			Fields: toFields(b.GetFields()), Stamps: toStamps(b.GetStamps()), Floor: graph.Sequence(b.GetFloor()),
		}
	}
	return s
}

func toFields(records map[string]*eventsv1.Field) map[string]graph.Field {
	if len(records) == 0 {
		return nil
	}
	fields := make(map[string]graph.Field, len(records))
	for name, f := range records {
		field := graph.Field{Stamp: graph.Sequence(f.GetStamp())}
		if f.GetValue() != nil {
			field.Value = jsontext.Value(f.GetValue())
		}
		fields[name] = field
	}
	return fields
}

func (r *reader) node(record *eventsv1.Node) *graph.Node {
	return &graph.Node{
		ID: r.id(record.GetId()), Name: record.GetName(), EntityType: graph.EntityType(record.GetEntityType()),
		Description: record.Description, Properties: r.properties(record.GetProperties()),
		Lifecycle: r.life(record.GetLife()),
	}
}

func (r *reader) edge(record *eventsv1.Edge) *graph.Edge {
	e := &graph.Edge{
		ID: r.id(record.GetId()), SourceID: r.id(record.GetSourceId()), TargetID: r.id(record.GetTargetId()),
		RelationType: record.GetRelationType(), Properties: r.properties(record.GetProperties()),
		Lifecycle: r.life(record.GetLife()),
	}
	if record.GetTaken() != nil {
		e.Taken = r.mark(record.GetTaken())
	}
	return e
}

func (r *reader) properties(raw []byte) graph.Properties {
	p, err := graph.ReadProperties(raw)
	if err != nil {
		r.fail(fmt.Errorf("properties: %w", err))
	}
	return p
}

func (r *reader) life(l *eventsv1.Lifecycle) graph.Lifecycle {
	if l == nil {
		r.fail(errLife)
	}
	return graph.Lifecycle{
		CreatedAt: at(l.GetCreatedAtUs()), UpdatedAt: at(l.GetUpdatedAtUs()), Version: l.GetVersion(),
		ChangedBy: graph.Sequence(l.GetChangedBy()), Deleted: l.GetDeleted(), CreatedBy: graph.Sequence(l.GetCreatedBy()),
		DeletedBy: graph.Sequence(l.GetDeletedBy()), Stamps: toStamps(l.GetStamps()), Floor: graph.Sequence(l.GetFloor()),
	}
}

func toStamps(numbers map[string]int64) map[string]graph.Sequence {
	if len(numbers) == 0 {
		return nil
	}
	stamps := make(map[string]graph.Sequence, len(numbers))
	for field, n := range numbers {
		stamps[field] = graph.Sequence(n)
	}
	return stamps
}

func (r *reader) mark(record *eventsv1.Mark) graph.Mark {
	return graph.Mark{Sequence: graph.Sequence(record.GetSequence()), Node: r.id(record.GetNodeId())}
}
