package milvus

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// credential implements TLS for gRPC. It reads the current files for each connection.
type credential struct{ files *tlsconfig.Client }

// ClientHandshake implements credentials.TransportCredentials.
func (c *credential) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	return c.current(authority).ClientHandshake(ctx, authority, raw)
}

// ServerHandshake implements credentials.TransportCredentials. It is not used.
func (c *credential) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.current("").ServerHandshake(raw)
}

// Info implements credentials.TransportCredentials.
func (c *credential) Info() credentials.ProtocolInfo { return c.current("").Info() }

// Clone implements credentials.TransportCredentials.
func (c *credential) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials. It returns an error, because the
// name is a setting.
func (c *credential) OverrideServerName(string) error {
	return errors.New("the server's name is a setting of the TLS files")
}

func (c *credential) current(authority string) credentials.TransportCredentials {
	return credentials.NewTLS(c.files.Config(authority))
}
