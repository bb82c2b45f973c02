package load

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// topicReader is how far topic graph.events was read, and what it has had of each
// workspace.
type topicReader struct {
	id   [16]byte
	next map[int32]int64
	seen map[uuid.UUID]int64 // the newest change of each workspace, all before it too
}

// topicRow is what a record of the topic says.
type topicRow struct {
	workspace uuid.UUID
	sequence  int64
	command   uuid.UUID
	part      uint32
}

// checkTopic holds the records that topic graph.events has got since it was read last
// against the journals: a record of each change, in order, and of nothing else. What was
// in a topic that was deleted is not missed.
func (l *Load) checkTopic(ctx context.Context, stores Stores) ([]Violation, error) {
	ends, err := stores.ends(ctx, eventsTopic)
	if err != nil {
		return nil, err
	}
	if len(ends) == 0 {
		return nil, nil
	}
	r := &l.topic
	whole := r.next != nil && r.id == ends[0].topicID
	for _, e := range ends {
		whole = whole && r.next[e.partition] >= e.start
	}
	first := r.next == nil
	if !whole { // it is another topic, or has lost what was not read yet
		*r = topicReader{id: ends[0].topicID, next: map[int32]int64{}, seen: map[uuid.UUID]int64{}}
	}
	records, err := r.read(ctx, stores, ends)
	if err != nil {
		return nil, err
	}
	heads := map[uuid.UUID]*tenant{}
	for _, t := range l.tenants {
		heads[t.uuid] = t
		if !whole && !first {
			r.seen[t.uuid] = -1 // wherever it begins
		}
	}
	return r.compare(records, heads), nil
}

// read reads from where it was to the ends.
func (r *topicReader) read(ctx context.Context, stores Stores, ends []partitionEnd) ([]topicRow, error) {
	at := map[int32]kgo.Offset{}
	left := 0
	for _, e := range ends {
		from := max(r.next[e.partition], e.start)
		if from < e.end {
			at[e.partition] = kgo.NewOffset().At(from)
			left++
		}
		r.next[e.partition] = e.end
	}
	if left == 0 {
		return nil, nil
	}
	client, err := stores.kafka(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		stores.TopicPrefix + eventsTopic: at,
	}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var list []topicRow
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("reading topic %s: %w", eventsTopic, err)
		}
		var wrong error
		fetches.EachRecord(func(record *kgo.Record) {
			if record.Offset >= r.next[record.Partition] {
				return
			}
			row, err := readEvent(record)
			if err != nil {
				wrong = err
			}
			list = append(list, row)
			if record.Offset == r.next[record.Partition]-1 {
				left--
			}
		})
		if wrong != nil {
			return nil, wrong
		}
	}
	return list, nil
}

func readEvent(record *kgo.Record) (row topicRow, err error) {
	var e eventsv1.GraphEvent
	if err := proto.Unmarshal(record.Value, &e); err != nil {
		return row, fmt.Errorf("record %d/%d of topic %s: %w", record.Partition, record.Offset, eventsTopic, err)
	}
	row = topicRow{sequence: e.GetChange().GetSequence(), part: e.GetPart()}
	if row.workspace, err = uuid.FromBytes(e.GetWorkspaceId()); err != nil {
		return row, err
	}
	row.command, err = uuid.FromBytes(e.GetChange().GetCommandId())
	return row, err
}

// compare holds records against the journals of workspaces.
func (r *topicReader) compare(records []topicRow, tenants map[uuid.UUID]*tenant) (found []Violation) {
	for _, row := range records {
		t := tenants[row.workspace]
		if t == nil {
			continue // a workspace that is gone, or nobody's here
		}
		seen := r.seen[row.workspace]
		switch kept := t.past.commands[graph.Sequence(row.sequence)]; {
		case row.sequence > t.past.last:
			found = shown(found, Violation{5, "an event was published of a change that is not in the journal", fmt.Sprintf(
				"workspace %s: change %d of command %s; the newest is %d", t.id, row.sequence, row.command, t.past.last,
			)})
			continue
		case kept != uuid.Nil && kept != row.command:
			found = shown(found, Violation{5, "an event was published of another command than the journal has", fmt.Sprintf(
				"workspace %s: change %d is of command %s, published was %s", t.id, row.sequence, kept, row.command,
			)})
		}
		if seen >= 0 && row.sequence > seen+1 {
			found = shown(found, Violation{5, "an event was left out of the topic", fmt.Sprintf(
				"workspace %s: %d comes after %d", t.id, row.sequence, seen,
			)})
		}
		r.seen[row.workspace] = max(seen, row.sequence)
	}
	for id, t := range tenants {
		if seen := r.seen[id]; seen >= 0 && seen < t.past.last {
			found = shown(found, Violation{5, "changes were not published", fmt.Sprintf(
				"workspace %s: up to %d of %d", t.id, seen, t.past.last,
			)})
		}
	}
	return found
}
