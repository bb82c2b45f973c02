package reply

import (
	"context"

	"github.com/oklog/ulid/v2"
)

type requestIDKey struct{}

// NewRequestID creates a request id: req_ and a ULID (26 characters, Crockford base32).
func NewRequestID() string { return "req_" + ulid.Make().String() }

// WithRequestID puts the request id into the context.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the context's request id, "" outside a request.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
