package commands

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
)

// record is a record with the request that it is.
type record struct {
	kafka   *kgo.Record
	request *graphrecord.Request // nil: it cannot be read
	// poison says why the record can never be decided; empty: it can, so far.
	poison   string
	buried   bool // it is among the dead letters
	timeouts int  // tries that took the database too long
}

func (r *record) replyTo() string { return string(kafka.Header(r.kafka, kafka.HeaderReplyTo)) }

// redriven reports that the record was put back out of the dead letters: it is decided
// again if all that is known of it is that it failed for an internal reason.
func (r *record) redriven() bool { return kafka.Header(r.kafka, kafka.HeaderRedriven) != nil }

// batch is what was polled of a partition while the groups before were decided. It is
// decided in one or more groups, each a transaction.
type batch struct {
	c       *Consumer
	records []*record
	rows    int
	done    int // records that are decided, when storing is tried again
}

// Add reads a record. One that cannot be read stays in its place, so that it is put
// aside in the order of the offsets.
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

// Rows returns the commands of the batch.
func (b *batch) Rows() int { return b.rows }

// Prepare has nothing to do.
func (b *batch) Prepare(context.Context) error { return nil }

// Store decides the records, group by group.
func (b *batch) Store(ctx context.Context) error {
	for b.done < len(b.records) {
		group := b.c.firstGroup(b.records[b.done:])
		if err := b.c.decide(ctx, group); err != nil {
			return err
		}
		b.done += len(group)
	}
	return nil
}

// decide decides records of a partition, when it is its turn among the partitions.
func (c *Consumer) decide(ctx context.Context, records []*record) error {
	p, err := c.partition(records[0].kafka.Partition)
	if err != nil {
		return err
	}
	if err := p.await(ctx, asideBytes); err != nil {
		return err
	}
	select {
	case c.deciding <- struct{}{}:
		defer func() { <-c.deciding }()
	case <-ctx.Done():
		return ctx.Err()
	}
	d := &decider{Consumer: c, partition: p}
	return d.decide(ctx, records)
}

// firstGroup returns the first of some records that are decided in one transaction.
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

// Release lets go of the records.
func (b *batch) Release() { b.records = nil }
