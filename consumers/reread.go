package consumers

import (
	"context"
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// Source gives the records that Reread reads: kafka.Assignment is one.
type Source interface {
	// Poll waits for records and gives at most so many, maybe none. io.EOF: there
	// are no more. A kafka.ErrDiscontinued ends the reading; what else fails is tried
	// again.
	Poll(ctx context.Context, most int) ([]*kgo.Record, error)
}

// Reread has the handler store what a source gives, in the same batches and stages as
// Run, but outside of any group: nothing is committed. It returns nil when the source
// has no more and all is stored, the cause when ctx ends before (what was polled is
// stored first, for Grace at most), and else what went wrong. Of the handler's methods
// it calls neither Start nor Discontinued.
func (l *Loop) Reread(ctx context.Context, source Source) error {
	s, polling, over := l.newSession(ctx)
	defer over()
	failure, err := s.through(func() error { return s.read(polling, source) })
	if errors.Is(failure, io.EOF) {
		return err
	}
	return failure
}

// read takes up what a source gives until there is no more, ctx is done or the
// records are not those that were meant, and says which it is.
func (s *session) read(ctx context.Context, source Source) error {
	retry := newRetrying(s.logger, "reading")
	for s.lanes.waitForSpace(ctx) {
		records, err := source.Poll(ctx, pollRecords)
		switch {
		case err == nil && retry.failed > 0:
			retry.worked()
			retry = newRetrying(s.logger, "reading")
		case err == nil:
		case ctx.Err() != nil: // said below
		case errors.Is(err, io.EOF), errors.Is(err, kafka.ErrDiscontinued):
			return err
		default:
			s.metrics.Retries.Add(1)
			retry.wait(ctx, err)
		}
		if len(records) > 0 {
			s.lanes.add(records, false)
		}
	}
	return context.Cause(ctx)
}
