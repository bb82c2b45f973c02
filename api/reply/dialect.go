package reply

import "context"

// Dialect converts a status into that of another product's API, for the clients of that
// product. code is the product's name of the error. The response has it as its top-level
// code, next to a message, in addition to the envelope.
type Dialect func(status int) (clientStatus int, code string)

type dialectKey struct{}

// WithDialect returns a context whose error responses use the dialect.
func WithDialect(ctx context.Context, d Dialect) context.Context {
	return context.WithValue(ctx, dialectKey{}, d)
}

// applyDialect applies the context's dialect to f, if there is one, and returns the status
// of the response.
func (f *failure) applyDialect(ctx context.Context, status int) int {
	d, ok := ctx.Value(dialectKey{}).(Dialect)
	if !ok {
		return status
	}
	status, f.Code = d(status)
	f.Message = f.Error.Message
	return status
}
