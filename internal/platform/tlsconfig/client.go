package tlsconfig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Files are the TLS files of a client. All may be empty: the client then trusts the CAs of
// the system, has no certificate, and expects the host that it dials.
type Files struct {
	CA         string // trusted CA certificates (PEM), instead of those of the system
	Cert, Key  string // client certificate and key (PEM)
	ServerName string // expected in the server's certificate, instead of the dialled host
	Setting    string // prefix of the names of the settings in errors, such as "redis-tls"
}

// Client creates the TLS configurations of connections. It is safe for concurrent use.
type Client struct {
	serverName string
	files      *reloader[trust]
}

// trust is the content of the files.
type trust struct {
	roots        *x509.CertPool // nil: the CAs of the system
	certificates []tls.Certificate
}

// NewClient reads the files. Its errors name the setting and the file.
func NewClient(f Files) (*Client, error) {
	if (f.Cert == "") != (f.Key == "") {
		return nil, fault.Newf(fault.Invalid, "--%s-cert and --%s-key go together", f.Setting, f.Setting)
	}
	files := []file{{f.Setting + "-ca", f.CA}, {f.Setting + "-cert", f.Cert}, {f.Setting + "-key", f.Key}}
	r, err := newReloader(files, func(loaded []contents) (trust, error) {
		var t trust
		var err error
		if loaded[0].path != "" {
			if t.roots, err = pool(loaded[0]); err != nil {
				return t, err
			}
		}
		if loaded[1].path != "" {
			certificate, err := pair(loaded[1], loaded[2])
			if err != nil {
				return t, err
			}
			t.certificates = []tls.Certificate{certificate}
		}
		return t, nil
	})
	if err != nil {
		return nil, err
	}
	return &Client{serverName: f.ServerName, files: r}, nil
}

// System returns a Client without files: it trusts the CAs of the system.
func System() *Client {
	c, err := NewClient(Files{})
	if err != nil {
		panic(err) // without files there are no errors
	}
	return c
}

// Config returns the configuration for one connection to an address, host:port or
// host. Call it for each connection, because the files may have changed. protocols are
// offered by ALPN.
func (c *Client) Config(address string, protocols ...string) *tls.Config {
	name := c.serverName
	if name == "" {
		name = hostOf(address)
	}
	t := c.files.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: name, RootCAs: t.roots, Certificates: t.certificates, NextProtos: protocols,
	}
}

// Dial connects to host:port and verifies the server, within timeout. protocols are
// offered by ALPN.
func (c *Client) Dial(
	ctx context.Context, address string, timeout time.Duration, protocols ...string,
) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dialer := tls.Dialer{NetDialer: &net.Dialer{}, Config: c.Config(address, protocols...)}
	return dialer.DialContext(ctx, "tcp", address)
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
