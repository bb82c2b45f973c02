package reply

import "context"

type challengeKey struct{}

// WithChallenge says by which scheme a request must be authenticated, for answers of
// 401. Without it, it is Bearer.
func WithChallenge(ctx context.Context, scheme string) context.Context {
	return context.WithValue(ctx, challengeKey{}, scheme)
}

func challengeOf(ctx context.Context) string {
	if scheme, ok := ctx.Value(challengeKey{}).(string); ok {
		return scheme
	}
	return "Bearer"
}
