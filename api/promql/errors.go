package promql

import (
	"context"
	"errors"
	"math"
	"net/http"
	"runtime"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/prometheus/promql"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// errorTypes are the error types by HTTP status. Prometheus has the first five; it has no keys, plans or
// limits of bodies.
var errorTypes = map[int]string{
	http.StatusBadRequest: "bad_data", http.StatusUnprocessableEntity: "execution",
	http.StatusInternalServerError: "internal", http.StatusNotFound: "not_found", http.StatusGatewayTimeout: "timeout",
	http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusMethodNotAllowed: "bad_data", http.StatusRequestEntityTooLarge: "bad_data",
	http.StatusUnsupportedMediaType: "bad_data", http.StatusTooManyRequests: "too_many_requests",
	http.StatusBadGateway: "unavailable", http.StatusServiceUnavailable: "unavailable",
}

// errorBody is the body of an error response of Prometheus.
type errorBody struct {
	Status    string `json:"status"`
	ErrorType any    `json:"errorType"` // a string
	Error     string `json:"error"`
}

// errorDialect returns the dialect of error responses.
func errorDialect() reply.Dialect {
	return reply.Dialect{
		Convert: func(status int) (clientStatus int, errorType any) {
			errorType = errorTypes[status]
			if status == http.StatusGatewayTimeout {
				status = http.StatusServiceUnavailable
			}
			return status, errorType
		},
		Encode: func(_ *http.Request, f *reply.DialectError) (mediaType string, body []byte) {
			// A message can quote bytes of the query that are not UTF-8.
			body, _ = json.Marshal(errorBody{"error", f.Code, f.Message}, jsontext.AllowInvalidUTF8(true)) // only strings
			return "application/json; charset=utf-8", body
		},
	}
}

// publicError returns the error of a request with its kind. Errors of the evaluation are the caller's,
// unless a store or the engine failed.
func (a *api) publicError(err error) error {
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
			int(math.Ceil(a.QueryTimeout.Seconds())),
		).After(time.Second).Because(err)
	case errors.As(err, &known):
		return known
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Unavailable, "The request was cancelled").After(time.Second)
	case errors.As(err, &many):
		return fault.Newf(
			fault.Invalid, "The query has more than %d samples in memory: ask for a shorter range, fewer series or a longer "+
				"step", a.MaxSamples,
		).Because(err)
	case errors.As(err, &storage), errors.As(err, &bug):
		return fault.Wrap(err, fault.Internal, "")
	}
	return fault.Wrap(err, fault.Invalid, err.Error())
}
