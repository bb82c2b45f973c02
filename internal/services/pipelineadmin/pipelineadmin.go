// Package pipelineadmin implements the operations of an operator on a running pipeline:
// listing topics, replaying ranges of a log, and inspecting, redriving and discarding dead
// letters. The command line and the admin UI call it. It does not print or prompt.
//
// A [Service] uses only Kafka and Postgres. It only queues replays; a process that runs the
// consumer executes them (consumers/replay). Dead letters are read from their topics and
// never removed from them. A redrive or a discard is recorded as a mark in Postgres.
//
// Errors are those of internal/platform/fault. If a value of a request is invalid, the
// detail "field" is its JSON name in the request type.
package pipelineadmin

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Service implements the operations on the pipeline. It is safe for concurrent use.
type Service struct {
	log      *kafka.Client
	registry *stores.DB
}

// New creates a Service.
func New(log *kafka.Client, registry *stores.DB) *Service {
	return &Service{log: log, registry: registry}
}

// topic returns the overview of one Livegraph topic. The name may have the prefix or not.
func (s *Service) topic(ctx context.Context, name string) (kafka.Overview, error) {
	found, err := s.log.Overviews(ctx, name)
	if err != nil {
		return kafka.Overview{}, err
	}
	if len(found) == 0 {
		return kafka.Overview{}, fault.Newf(fault.NotFound, "topic %s does not exist", name)
	}
	return found[0], nil
}

// checkWorkspace returns an error if the workspace does not exist. A nil id is valid.
func (s *Service) checkWorkspace(ctx context.Context, id *uuid.UUID) error {
	if id == nil {
		return nil
	}
	found, err := s.registry.WorkspacesByID(ctx, []uuid.UUID{*id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fault.Field(fault.Invalid, "workspaceId", "there is no workspace "+id.String())
	}
	return nil
}

// Topic describes a topic and its readers.
type Topic struct {
	Topic          string      `json:"topic"` // without the prefix
	Name           string      `json:"name"`
	RetentionBytes int64       `json:"retentionBytes"` // of each partition; -1: unlimited
	Bytes          int64       `json:"bytes"`
	Records        int64       `json:"records"` // in the log
	Lag            *int64      `json:"lag"`     // the largest of the readers; nil: no reader
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
	Lag        int64             `json:"lag"` // records not committed
	Partitions []ReaderPartition `json:"partitions"`
}

// ReaderPartition is the position of a reader in a partition.
type ReaderPartition struct {
	Partition int32  `json:"partition"`
	Committed *int64 `json:"committed"` // nil: nothing
	Lag       int64  `json:"lag"`
}

// Topics lists the Livegraph topics and their dead-letter topics.
func (s *Service) Topics(ctx context.Context) ([]Topic, error) {
	found, err := s.log.Overviews(ctx)
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
