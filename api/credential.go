package api

import (
	"context"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

type credentialKey struct{}

// withCredential keeps the whole credential for this package; handlers get the
// principal only.
func withCredential(ctx context.Context, c *access.Credential) context.Context {
	return context.WithValue(ctx, credentialKey{}, c)
}

func credentialFrom(ctx context.Context) *access.Credential {
	c, _ := ctx.Value(credentialKey{}).(*access.Credential)
	return c
}
