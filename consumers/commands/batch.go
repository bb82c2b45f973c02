package commands

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/graphrecord"
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

// redriven says that the record was put back out of the dead letters: it is decided
// anew if all that is known of it is that it failed for an internal reason.
func (r *record) redriven() bool { return kafka.Header(r.kafka, kafka.HeaderRedriven) != nil }

// batch is what was polled while the groups before were decided. It is decided in
// one or more groups, each a transaction.
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

// Rows gives the commands of the batch.
func (b *batch) Rows() int { return b.rows }

// Prepare has nothing to do.
func (b *batch) Prepare(context.Context) error { return nil }

// Store decides the records, group by group.
func (b *batch) Store(ctx context.Context) error {
	for b.done < len(b.records) {
		group := b.next()
		if err := b.c.decide(ctx, group); err != nil {
			return err
		}
		b.done += len(group)
	}
	return nil
}

// next gives the records of the next group.
func (b *batch) next() []*record {
	rest := b.records[b.done:]
	commands, bytes := 0, 0
	for i, r := range rest {
		if i > 0 && (i >= b.c.deps.Config.GroupRecords || commands >= groupCommands || bytes >= groupBytes) {
			return rest[:i]
		}
		if r.request != nil {
			commands += len(r.request.Actions)
		}
		bytes += len(r.kafka.Value)
	}
	return rest
}

// Release lets go of the records.
func (b *batch) Release() { b.records = nil }
