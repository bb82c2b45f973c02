package promengine

import (
	"context"
	"errors"
	"math"
	"runtime"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// PublicError returns the error of a query with its kind, for the client. Errors of the evaluation are the caller's,
// unless a store or the engine failed.
func (o *Options) PublicError(err error) error {
	var (
		known    *fault.Error
		late     promql.ErrQueryTimeout
		canceled promql.ErrQueryCanceled
		many     promql.ErrTooManySamples
		storage  promql.ErrStorage
		bug      runtime.Error
	)
	switch {
	case errors.As(err, &known) && known.Kind == fault.Timeout, errors.As(err, &late),
		errors.Is(err, context.DeadlineExceeded):
		return fault.Newf(
			fault.Timeout, "The query took longer than %d s: ask for a shorter range, fewer series or a longer step",
			int(math.Ceil(o.Timeout.Seconds())),
		).After(time.Second).Because(err)
	case errors.As(err, &known):
		return known
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Unavailable, "The request was cancelled").After(time.Second)
	case errors.As(err, &many):
		return fault.Newf(
			fault.Invalid, "The query has more than %d samples in memory: ask for a shorter range, fewer series or a longer "+
				"step", o.MaxSamples,
		).Because(err)
	case errors.As(err, &storage), errors.As(err, &bug):
		return fault.Wrap(err, fault.Internal, "")
	}
	return fault.Wrap(err, fault.Invalid, err.Error())
}
