package commands

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
)

// record is a Kafka record with its decoded request.
type record struct {
	kafka   *kgo.Record
	request *graphrecord.Request // nil: it cannot be decoded
	// poison is the reason why the record can never be decided. It is empty if none is known.
	poison       string
	deadLettered bool // it was written to the dead letters
	timeouts     int  // attempts that ended in a database timeout
}

func (r *record) replyTo() string { return string(kafka.Header(r.kafka, kafka.HeaderReplyTo)) }

// redriven reports whether the record was redriven from the dead letters. Such a record is
// decided again if its stored outcome is an internal failure.
func (r *record) redriven() bool { return kafka.Header(r.kafka, kafka.HeaderRedriven) != nil }

// batch contains the records of a partition that were polled while the previous groups were
// decided. It is decided in one or more groups, one transaction per group.
type batch struct {
	c       *Consumer
	records []*record
	rows    int
	decided int // number of records already decided, for retries of Store
}

// Add decodes a record and appends it. A record that cannot be decoded is appended too, so
// that it becomes a dead letter in the order of the offsets.
func (b *batch) Add(r *kgo.Record) error {
	rec := &record{kafka: r}
	request, err := graphrecord.DecodeRequest(r.Value)
	if err != nil {
		rec.poison = "unreadable: " + err.Error()
		b.rows++
	} else {
		rec.request = request
		b.rows += len(request.Actions)
	}
	b.records = append(b.records, rec)
	return nil
}

// Rows returns the number of commands of the batch.
func (b *batch) Rows() int { return b.rows }

// Prepare does nothing.
func (b *batch) Prepare(context.Context) error { return nil }

// Store decides the records group by group.
func (b *batch) Store(ctx context.Context) error {
	for b.decided < len(b.records) {
		group := b.c.firstGroup(b.records[b.decided:])
		if err := b.c.decide(ctx, group); err != nil {
			return err
		}
		b.decided += len(group)
	}
	return nil
}

// decide waits for a free slot and decides records of a partition.
func (c *Consumer) decide(ctx context.Context, records []*record) error {
	p, err := c.partition(records[0].kafka.Partition)
	if err != nil {
		return err
	}
	if err := p.waitForAside(ctx, maxAsideBytes); err != nil {
		return err
	}
	select {
	case c.decideSlots <- struct{}{}:
		defer func() { <-c.decideSlots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	d := &decider{Consumer: c, partition: p}
	return d.decide(ctx, records)
}

// firstGroup returns the longest prefix of records that is decided in one transaction.
func (c *Consumer) firstGroup(records []*record) []*record {
	commands, bytes := 0, 0
	for i, r := range records {
		if i > 0 && (i >= c.deps.Config.GroupRecords || commands >= groupCommands || bytes >= groupBytes) {
			return records[:i]
		}
		if r.request != nil {
			commands += len(r.request.Actions)
		}
		bytes += len(r.kafka.Value)
	}
	return records
}

// Full returns false: only Config limits the size.
func (*batch) Full() bool { return false }

// Release drops the references to the records.
func (b *batch) Release() { b.records = nil }
