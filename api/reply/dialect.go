package reply

import "context"

// Dialect is how the clients of another product read an error, in addition to the
// envelope: it gives the status that they understand for one of ours, and their
// name for it, which the answer has as its top-level code beside a message.
type Dialect func(status int) (theirs int, code string)

type dialectKey struct{}

// WithDialect makes the errors of a request speak a dialect.
func WithDialect(ctx context.Context, d Dialect) context.Context {
	return context.WithValue(ctx, dialectKey{}, d)
}

// speak writes the failure in the context's dialect, if it has one.
func (f *failure) speak(ctx context.Context, status int) int {
	d, ok := ctx.Value(dialectKey{}).(Dialect)
	if !ok {
		return status
	}
	status, f.Code = d(status)
	f.Message = f.Error.Message
	return status
}
