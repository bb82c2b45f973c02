package livegraph

// CallOption is an option of a method that writes.
type CallOption func(*callOptions)

type callOptions struct {
	idempotencyKey  string
	expectedVersion int
}

// WithIdempotencyKey sets the idempotency key of a request, in place of a random one: 1 to 255 visible ASCII
// characters. The server executes a request with the same key and the same content once in 24 hours, and returns the
// same result again. A program that stores the key before the request can repeat the request after a restart.
func WithIdempotencyKey(key string) CallOption {
	return func(o *callOptions) { o.idempotencyKey = key }
}

// IfVersion is an update or a deletion of a resource that has this version. Otherwise the error is [ErrConflict].
func IfVersion(version int) CallOption {
	return func(o *callOptions) { o.expectedVersion = version }
}

func newCallOptions(options []CallOption) (o callOptions) {
	for _, option := range options {
		option(&o)
	}
	if o.idempotencyKey == "" {
		o.idempotencyKey = newIdempotencyKey()
	}
	return o
}
