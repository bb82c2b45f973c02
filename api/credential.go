package api

import (
	"context"

	"github.com/livegraph/livegraph/storage/postgres"
)

type credentialKey struct{}

// withCredential keeps the whole credential for this package; handlers get the
// principal only.
func withCredential(ctx context.Context, c *postgres.Credential) context.Context {
	return context.WithValue(ctx, credentialKey{}, c)
}

func credentialFrom(ctx context.Context) *postgres.Credential {
	c, _ := ctx.Value(credentialKey{}).(*postgres.Credential)
	return c
}
