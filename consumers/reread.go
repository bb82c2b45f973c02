package consumers

import (
	"context"
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// Source is the source of the records that Reread reads, for example a kafka.Assignment.
type Source interface {
	// Poll waits for records and returns at most limit of them, possibly none. io.EOF means
	// that there are no more. kafka.ErrDiscontinued ends the reading. Other errors are
	// retried.
	Poll(ctx context.Context, limit int) ([]*kgo.Record, error)
}

// Reread processes the records of a source in the same batches and stages as Run, but outside of
// a group, so no offsets are committed. It returns nil when the source has no more records and
// all are stored. If ctx ends before, it stores the polled records, for at most Grace, and
// returns the cause. Otherwise it returns the error. It does not call the handler's methods
// Start and Discontinued.
func (l *Loop) Reread(ctx context.Context, source Source) error {
	s, polling, closeSession := l.newSession(ctx)
	defer closeSession()
	failure, err := s.pollAndStore(func() error { return s.readSource(polling, source) })
	if errors.Is(failure, io.EOF) {
		return err
	}
	return failure
}

// readSource reads a source until it has no more records, ctx is done or its records were
// replaced, and returns the reason.
func (s *session) readSource(ctx context.Context, source Source) error {
	retry := newRetrier(s.logger, "reading")
	for s.pipelines.waitForSpace(ctx) {
		records, err := source.Poll(ctx, maxPollRecords)
		switch {
		case err == nil && retry.failed > 0:
			retry.logRecovery()
			retry = newRetrier(s.logger, "reading")
		case err == nil:
		case ctx.Err() != nil: // returned below
		case errors.Is(err, io.EOF), errors.Is(err, kafka.ErrDiscontinued):
			return err
		default:
			s.metrics.Retries.Add(1)
			retry.wait(ctx, err)
		}
		if len(records) > 0 {
			s.pipelines.add(records, false)
		}
	}
	return context.Cause(ctx)
}
