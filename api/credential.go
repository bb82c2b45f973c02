package api

import (
	"context"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

type credentialKey struct{}

// withCredential adds the credential to the context, for this package only. Handlers get the
// principal.
func withCredential(ctx context.Context, c *access.Credential) context.Context {
	return context.WithValue(ctx, credentialKey{}, c)
}

func credentialFrom(ctx context.Context) *access.Credential {
	c, _ := ctx.Value(credentialKey{}).(*access.Credential)
	return c
}
