package request

import "context"

// Session ends a streaming response when its key or session is no longer valid.
type Session struct {
	// Recheck checks the access of the key again. The response must end if it returns an
	// error: the key was revoked, or it no longer has the scopes or access to the workspace.
	Recheck func(ctx context.Context) error
	// Draining is closed when the server shuts down.
	Draining <-chan struct{}
}

type sessionKey struct{}

// WithSession returns a context with the session.
func WithSession(ctx context.Context, s Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionOf returns the context's session. Only streaming routes have one.
func SessionOf(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey{}).(Session)
	return s
}
