package milvus

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// credential is gRPC's TLS, made for each connection of the files as they are by then.
type credential struct{ files *tlsconfig.Client }

// ClientHandshake implements credentials.TransportCredentials.
func (c *credential) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	return c.now(authority).ClientHandshake(ctx, authority, raw)
}

// ServerHandshake implements credentials.TransportCredentials; there is no server.
func (c *credential) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.now("").ServerHandshake(raw)
}

// Info implements credentials.TransportCredentials.
func (c *credential) Info() credentials.ProtocolInfo { return c.now("").Info() }

// Clone implements credentials.TransportCredentials.
func (c *credential) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials: the name is a
// setting.
func (c *credential) OverrideServerName(string) error {
	return errors.New("the server's name is a setting of the TLS files")
}

func (c *credential) now(authority string) credentials.TransportCredentials {
	return credentials.NewTLS(c.files.Config(authority))
}
