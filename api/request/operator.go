package request

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"
)

// Operator is a user of the admin UI.
type Operator struct {
	ID   uuid.UUID
	Name string
	// SessionEnds is the time at which the session expires if it is not used.
	SessionEnds time.Time
}

type operatorKey struct{}

// WithOperator returns a context with the operator.
func WithOperator(ctx context.Context, o *Operator) context.Context {
	return context.WithValue(ctx, operatorKey{}, o)
}

// OperatorOf returns the context's operator. It is nil outside the admin UI.
func OperatorOf(ctx context.Context) *Operator {
	o, _ := ctx.Value(operatorKey{}).(*Operator)
	return o
}

// RequesterOf returns a description of who sends the request, for records: an operator by name, a key by its id.
func RequesterOf(ctx context.Context) string {
	if o := OperatorOf(ctx); o != nil {
		return "operator " + o.Name
	}
	if p := PrincipalOf(ctx); p != nil {
		return "key " + p.KeyID.String()
	}
	return "nobody"
}

// Client describes the client of a request.
type Client struct {
	IP     netip.Addr // without a zone; the zero address: unknown
	Secure bool       // the client's connection is encrypted, to this server or to a proxy
}

type clientKey struct{}

// WithClient returns a context with the client.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf returns the context's client. Only requests of the admin UI have one.
func ClientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}
