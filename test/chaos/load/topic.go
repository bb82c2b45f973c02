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

// topicReader contains the offsets up to which topic graph.events was read, and the sequences it
// contained of each workspace.
type topicReader struct {
	id   [16]byte
	next map[int32]int64
	seen map[uuid.UUID]int64 // newest change of each workspace; all earlier ones were read
}

// topicRow is the content of a record of the topic.
type topicRow struct {
	workspace uuid.UUID
	sequence  int64
	command   uuid.UUID
	part      uint32
}

// checkTopic compares the records that were added to topic graph.events since the last call with
// the journals: one record for each change, in order, and no others. Records of a deleted topic are
// not required.
func (l *Load) checkTopic(ctx context.Context, stores Stores) ([]Violation, error) {
	ends, err := stores.ends(ctx, eventsTopic)
	if err != nil {
		return nil, err
	}
	if len(ends) == 0 {
		return nil, nil
	}
	r := &l.topic
	contiguous := r.next != nil && r.id == ends[0].topicID
	for _, e := range ends {
		contiguous = contiguous && r.next[e.partition] >= e.start
	}
	first := r.next == nil
	if !contiguous { // it is a new topic, or unread records were deleted
		*r = topicReader{id: ends[0].topicID, next: map[int32]int64{}, seen: map[uuid.UUID]int64{}}
	}
	records, err := r.read(ctx, stores, ends)
	if err != nil {
		return nil, err
	}
	heads := map[uuid.UUID]*tenant{}
	for _, t := range l.tenants {
		heads[t.uuid] = t
		if !contiguous && !first {
			r.seen[t.uuid] = -1 // its first sequence is unknown
		}
	}
	return r.compare(records, heads), nil
}

// read reads the records from the last offsets to the ends.
func (r *topicReader) read(ctx context.Context, stores Stores, ends []partitionEnd) ([]topicRow, error) {
	offsets := map[int32]kgo.Offset{}
	left := 0
	for _, e := range ends {
		from := max(r.next[e.partition], e.start)
		if from < e.end {
			offsets[e.partition] = kgo.NewOffset().At(from)
			left++
		}
		r.next[e.partition] = e.end
	}
	if left == 0 {
		return nil, nil
	}
	client, err := stores.kafka(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		stores.TopicPrefix + eventsTopic: offsets,
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
		var failure error
		fetches.EachRecord(func(record *kgo.Record) {
			if record.Offset >= r.next[record.Partition] {
				return
			}
			row, err := readEvent(record)
			if err != nil {
				failure = err
			}
			list = append(list, row)
			if record.Offset == r.next[record.Partition]-1 {
				left--
			}
		})
		if failure != nil {
			return nil, failure
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

// compare compares records with the journals of workspaces.
func (r *topicReader) compare(records []topicRow, tenants map[uuid.UUID]*tenant) (found []Violation) {
	for _, row := range records {
		t := tenants[row.workspace]
		if t == nil {
			continue // a removed workspace, or one of another load
		}
		seen := r.seen[row.workspace]
		switch kept := t.history.commands[graph.Sequence(row.sequence)]; {
		case row.sequence > t.history.last:
			found = appendLimited(found, Violation{
				5, "an event was published of a change that is not in the journal",
				fmt.Sprintf(
					"workspace %s: change %d of command %s; the newest is %d", t.id, row.sequence, row.command, t.history.last,
				),
			})
			continue
		case kept != uuid.Nil && kept != row.command:
			found = appendLimited(found, Violation{
				5, "an event was published of another command than the journal has",
				fmt.Sprintf(
					"workspace %s: change %d is of command %s, published was %s", t.id, row.sequence, kept, row.command,
				),
			})
		}
		if seen >= 0 && row.sequence > seen+1 {
			found = appendLimited(found, Violation{5, "an event was left out of the topic", fmt.Sprintf(
				"workspace %s: %d comes after %d", t.id, row.sequence, seen,
			)})
		}
		r.seen[row.workspace] = max(seen, row.sequence)
	}
	for id, t := range tenants {
		if seen := r.seen[id]; seen >= 0 && seen < t.history.last {
			found = appendLimited(found, Violation{5, "changes were not published", fmt.Sprintf(
				"workspace %s: up to %d of %d", t.id, seen, t.history.last,
			)})
		}
	}
	return found
}
