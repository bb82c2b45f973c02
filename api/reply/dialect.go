package reply

import "context"

// Dialect converts error responses into those of another product's API, for the clients of that
// product.
type Dialect struct {
	// Status converts a status. code is the product's name of the error.
	Status func(status int) (clientStatus int, code string)
	// Body returns the product's body of an error response. If it is nil, the response is the
	// envelope with the code and the message as top-level fields.
	Body func(code, message string) any
}

type dialectKey struct{}

// WithDialect returns a context whose error responses use the dialect.
func WithDialect(ctx context.Context, d Dialect) context.Context {
	return context.WithValue(ctx, dialectKey{}, d)
}

// inDialect returns the status and the body of an error response in the context's dialect or, if
// there is none, in the envelope.
func (f *failure) inDialect(ctx context.Context, status int) (clientStatus int, body any) {
	d, ok := ctx.Value(dialectKey{}).(Dialect)
	if !ok {
		return status, f
	}
	status, code := d.Status(status)
	if d.Body != nil {
		return status, d.Body(code, f.Error.Message)
	}
	f.Code, f.Message = code, f.Error.Message
	return status, f
}
