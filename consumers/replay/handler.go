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

// handler is what the run loop sees of a run.
type handler struct {
	progress *progress
	newBatch func() consumers.Batch
	pace     *pace

	fewRows, fewBytes int // of a batch while there is live work
}

// NewBatch returns an empty batch of the consumer's.
func (h *handler) NewBatch() consumers.Batch { return &paced{Batch: h.newBatch(), pace: h.pace} }

// Full has batches small while there is live work, which waits behind them.
func (h *handler) Full(rows, bytes int) bool {
	return h.pace.live.Load() && (rows >= h.fewRows || bytes >= h.fewBytes)
}

// Advance notes how far the job is. Without its claim the run ends.
func (h *handler) Advance(ctx context.Context, next map[int32]int64) error {
	err := h.progress.advance(ctx, next)
	if errors.Is(err, jobs.ErrReplayTaken) {
		return consumers.Rejoin(err)
	}
	return err
}

// Refused counts what can never be stored. It is among the dead letters since it was
// consumed.
func (h *handler) Refused(_ context.Context, letters []kafka.DeadLetter) error {
	h.progress.refuse(int64(len(letters)))
	return nil
}

// What a Handler of a group does besides, a replay has no use for.

// Reset does nothing.
func (*handler) Reset() {}

// Start is not called.
func (*handler) Start(context.Context, map[int32]int64) (map[int32]int64, error) { return nil, nil }

// Discontinued is not called.
func (*handler) Discontinued(int32, int64) {}

// Version is nothing that is asked for: nothing is put among the dead letters.
func (*handler) Version(*kgo.Record) uint64 { return 0 }

// source reads the job's ranges, and makes sure once that they are of the log that
// was meant: between the begin and the first fetch it may have become another.
type source struct {
	*kafka.Assignment
	wanted  context.Context //nolint:containedctx // done when no more is to be read, with why
	cut     error           // why the reading ended before the ranges did; nil: it did not
	log     *kafka.Client
	topic   string
	id      [16]byte
	most    int // records at a time
	checked bool
}

// Poll returns records, and none any more when they are not wanted.
func (s *source) Poll(ctx context.Context, most int) ([]*kgo.Record, error) {
	polling, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.wanted, cancel)()
	records, err := s.read(polling, most)
	if ctx.Err() == nil && s.wanted.Err() != nil {
		s.cut = context.Cause(s.wanted)
		return nil, io.EOF
	}
	return records, err
}

func (s *source) read(ctx context.Context, most int) ([]*kgo.Record, error) {
	records, err := s.Assignment.Poll(ctx, min(most, s.most))
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
