package request

import "context"

// Session is what an answer that lasts needs to know when to end.
type Session struct {
	// Recheck asks again whether the key may have this answer. An error ends it: the
	// key was revoked, lacks the scopes by now, or the workspace is closed to it.
	Recheck func(ctx context.Context) error
	// Draining is closed when the server goes away.
	Draining <-chan struct{}
}

type sessionKey struct{}

// WithSession puts the session into the context.
func WithSession(ctx context.Context, s Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionOf returns the context's session. Only routes that declare to last have one.
func SessionOf(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey{}).(Session)
	return s
}
