package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// handler implements the interface that the run loop requires, for one run.
type handler struct {
	progress *progress
	newBatch func() consumers.Batch
	pace     *pace

	liveBatchRows, liveBatchBytes int // size of a batch while there is live work
}

// NewBatch returns an empty batch of the consumer.
func (h *handler) NewBatch() consumers.Batch { return &pacedBatch{Batch: h.newBatch(), pace: h.pace} }

// full limits the size of batches while there is live work, which waits for them.
func (h *handler) full(rows, bytes int) bool {
	return h.pace.live.Load() && (rows >= h.liveBatchRows || bytes >= h.liveBatchBytes)
}

// Advance stores the progress of the job. If the claim was lost, the run ends.
func (h *handler) Advance(ctx context.Context, next map[int32]int64) error {
	err := h.progress.advance(ctx, next)
	if errors.Is(err, jobs.ErrReplayTaken) {
		return consumers.Rejoin(err)
	}
	return err
}

// refused counts records that can never be stored. They became dead letters when they were first
// consumed.
func (h *handler) refused(_ context.Context, deadLetters []kafka.DeadLetter) error {
	h.progress.refuse(int64(len(deadLetters)))
	return nil
}

// A replay does not use the other methods of Handler, which are for groups.

// Reset does nothing.
func (*handler) Reset() {}

// Start is not called.
func (*handler) Start(context.Context, map[int32]int64) (map[int32]int64, error) { return nil, nil }

// Discontinued is not called.
func (*handler) Discontinued(int32, int64) {}

// Version returns 0. A replay writes no dead letters, so nothing uses the version.
func (*handler) Version(*kgo.Record) uint64 { return 0 }

// source reads the ranges of a job. It checks once that they belong to the topic of the job,
// because the topic may be created again between Begin and the first fetch.
type source struct {
	*kafka.Assignment
	reading context.Context //nolint:containedctx // done when reading must stop, with the cause
	cut     error           // cause if reading stopped before the end of the ranges; nil: it did not
	log     *kafka.Client
	topic   string
	id      [16]byte
	limit   int // maximum number of records of a poll
	checked bool
}

// Poll returns records, or io.EOF when reading must stop.
func (s *source) Poll(ctx context.Context, limit int) ([]*kgo.Record, error) {
	polling, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.reading, cancel)()
	records, err := s.read(polling, limit)
	if ctx.Err() == nil && s.reading.Err() != nil {
		s.cut = context.Cause(s.reading)
		return nil, io.EOF
	}
	return records, err
}

func (s *source) read(ctx context.Context, limit int) ([]*kgo.Record, error) {
	records, err := s.Assignment.Poll(ctx, min(limit, s.limit))
	if s.checked || len(records) == 0 {
		return records, err
	}
	for {
		seen, err := s.log.ObserveTopic(ctx, s.topic)
		switch {
		case err == nil && seen.ID == s.id:
			s.checked = true
			return records, nil
		case err == nil:
			return nil, kafka.NewDiscontinuity(0, -1, errOtherLog)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("checking the topic: %w", err)
		}
		sleep.For(ctx, retryWait)
	}
}
