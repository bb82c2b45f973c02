package request

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"
)

// Operator is who uses the administration page.
type Operator struct {
	ID   uuid.UUID
	Name string
	// SessionEnds is when the session ends if it is not used any more.
	SessionEnds time.Time
}

type operatorKey struct{}

// WithOperator puts the operator into the context.
func WithOperator(ctx context.Context, o *Operator) context.Context {
	return context.WithValue(ctx, operatorKey{}, o)
}

// OperatorOf returns the context's operator. It is nil outside the administration page.
func OperatorOf(ctx context.Context) *Operator {
	o, _ := ctx.Value(operatorKey{}).(*Operator)
	return o
}

// AskerOf says, for what is noted of it, who asks: an operator by name, a key by its id.
func AskerOf(ctx context.Context) string {
	if o := OperatorOf(ctx); o != nil {
		return "operator " + o.Name
	}
	if p := PrincipalOf(ctx); p != nil {
		return "key " + p.KeyID.String()
	}
	return "nobody"
}

// Client is where a request comes from.
type Client struct {
	IP     netip.Addr // without a zone; the zero address: unknown
	Secure bool       // the client's own connection is encrypted, here or at a proxy
}

type clientKey struct{}

// WithClient puts the client into the context.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf returns the context's client; only requests of the administration page have
// one.
func ClientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}
