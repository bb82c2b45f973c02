package reply

import (
	"context"
	"net/http"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Dialect converts errors into those of another product's API, for the clients of that
// product.
type Dialect struct {
	// Convert returns the status for the clients and the product's code of the error. The response
	// has the code at the top level, next to a message, in addition to the envelope.
	Convert func(status int) (clientStatus int, code any)
	// Encode returns the response instead of the envelope, and its media type, or no media type if
	// the client reads JSON. It may be nil.
	Encode func(r *http.Request, f *DialectError) (mediaType string, body []byte)
}

// DialectError is an error for the clients of another product.
type DialectError struct {
	Code          any
	Message       string
	Field, Reason string // empty unless the error is about a field
	RetryAfter    time.Duration
}

type dialectKey struct{}

// WithDialect returns a context whose error responses use the dialect.
func WithDialect(ctx context.Context, d Dialect) context.Context {
	return context.WithValue(ctx, dialectKey{}, d)
}

// applyDialect applies the request's dialect to f, if there is one. It returns the status of
// the response and, if the response is not JSON, its media type and body.
func (f *failure) applyDialect(
	r *http.Request, fe *fault.Error, status int,
) (clientStatus int, mediaType string, body []byte) {
	d, ok := r.Context().Value(dialectKey{}).(Dialect)
	if !ok {
		return status, "", nil
	}
	status, f.Code = d.Convert(status)
	f.Message = f.Error.Message
	if d.Encode == nil {
		return status, "", nil
	}
	e := DialectError{Code: f.Code, Message: f.Message, RetryAfter: fe.RetryAfter}
	e.Field, _ = f.Error.Details["field"].(string)
	e.Reason, _ = f.Error.Details["reason"].(string)
	mediaType, body = d.Encode(r, &e)
	return status, mediaType, body
}
