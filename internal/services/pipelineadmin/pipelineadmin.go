// Package pipelineadmin is what an operator does to the pipeline while it runs: look at the
// topics, replay a part of a log, and look after dead letters. The command line and the
// administration page call it; it prints nothing and asks nobody.
//
// A [Service] works on the log and on Postgres alone. Replays are only queued here: a
// process that has the consumer carries them out (consumers/replay). Dead letters are
// read where they are, in their topics, and never removed from there: what was done
// about one is a mark beside it.
//
// Errors are those of internal/platform/fault; where a value of a request is at fault, the
// detail "field" names it as in the request types' JSON.
package pipelineadmin

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Service is where an operator works. It is safe for concurrent use.
type Service struct {
	log      *kafka.Client
	registry *stores.DB
}

// New creates a desk.
func New(log *kafka.Client, registry *stores.DB) *Service {
	return &Service{log: log, registry: registry}
}

// topic asks for one topic of ours by its name, with or without the prefix.
func (d *Service) topic(ctx context.Context, name string) (kafka.Overview, error) {
	found, err := d.log.Overviews(ctx, name)
	if err != nil {
		return kafka.Overview{}, err
	}
	if len(found) == 0 {
		return kafka.Overview{}, fault.Newf(fault.NotFound, "topic %s does not exist", name)
	}
	return found[0], nil
}

// knownWorkspace refuses a workspace that there is not.
func (d *Service) knownWorkspace(ctx context.Context, id *uuid.UUID) error {
	if id == nil {
		return nil
	}
	found, err := d.registry.WorkspacesByID(ctx, []uuid.UUID{*id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fault.Field(fault.Invalid, "workspaceId", "there is no workspace "+id.String())
	}
	return nil
}

// Topic is what there is to know of a topic.
type Topic struct {
	Topic          string      `json:"topic"` // without the prefix
	Name           string      `json:"name"`
	RetentionBytes int64       `json:"retentionBytes"` // of each partition; -1: not bounded
	Bytes          int64       `json:"bytes"`
	Records        int64       `json:"records"` // that the log has
	Lag            *int64      `json:"lag"`     // of the reader that is furthest behind; nil: no reader
	Readers        []Reader    `json:"readers"`
	Partitions     []Partition `json:"partitions"`
}

// Partition is a partition of a topic.
type Partition struct {
	Partition int32 `json:"partition"`
	Begin     int64 `json:"begin"`
	End       int64 `json:"end"` // exclusive
	Bytes     int64 `json:"bytes"`
}

// Reader is a built-in consumer of a topic.
type Reader struct {
	Group      string            `json:"group"`
	Lag        int64             `json:"lag"` // records that it has not committed
	Partitions []ReaderPartition `json:"partitions"`
}

// ReaderPartition is how far a reader is with a partition.
type ReaderPartition struct {
	Partition int32  `json:"partition"`
	Committed *int64 `json:"committed"` // nil: nothing
	Lag       int64  `json:"lag"`
}

// Topics lists our topics and those of their dead letters.
func (d *Service) Topics(ctx context.Context) ([]Topic, error) {
	found, err := d.log.Overviews(ctx)
	if err != nil {
		return nil, err
	}
	topics := make([]Topic, len(found))
	for i, o := range found {
		topics[i] = topicOf(o)
	}
	return topics, nil
}

func topicOf(o kafka.Overview) Topic {
	t := Topic{
		Topic: o.Label, Name: o.Name, RetentionBytes: o.RetentionBytes, Partitions: make([]Partition, len(o.Partitions)),
		Readers: make([]Reader, len(o.Readers)),
	}
	for i, p := range o.Partitions {
		t.Partitions[i] = Partition{Partition: p.Partition, Begin: p.Start, End: p.End, Bytes: p.Bytes}
		t.Bytes += p.Bytes
		t.Records += p.End - p.Start
	}
	for i := range o.Readers {
		t.Readers[i] = readerOf(&o, &o.Readers[i])
		if lag := t.Readers[i].Lag; t.Lag == nil || lag > *t.Lag {
			t.Lag = &lag
		}
	}
	return t
}

func readerOf(o *kafka.Overview, r *kafka.Reader) Reader {
	reader := Reader{Group: r.Group, Partitions: make([]ReaderPartition, len(o.Partitions))}
	for i := range o.Partitions {
		lag := r.Lag(&o.Partitions[i], i)
		reader.Partitions[i] = ReaderPartition{Partition: o.Partitions[i].Partition, Lag: lag}
		if r.Committed[i] >= 0 {
			reader.Partitions[i].Committed = &r.Committed[i]
		}
		reader.Lag += lag
	}
	return reader
}
