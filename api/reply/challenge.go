package reply

import "context"

type challengeKey struct{}

// WithChallenge sets the authentication scheme in the WWW-Authenticate header of 401
// responses. The default is Bearer.
func WithChallenge(ctx context.Context, scheme string) context.Context {
	return context.WithValue(ctx, challengeKey{}, scheme)
}

func challengeOf(ctx context.Context) string {
	if scheme, ok := ctx.Value(challengeKey{}).(string); ok {
		return scheme
	}
	return "Bearer"
}
