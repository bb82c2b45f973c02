package tlsconfig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Files say what a client trusts and what it shows of itself. All may be empty: then
// it trusts whom the system trusts, shows nothing, and expects the host that it dials.
type Files struct {
	CA         string // certificates (PEM) of the issuers that are trusted, in place of the system's
	Cert, Key  string // what the client shows (PEM)
	ServerName string // expected in the server's certificate, in place of the host that is dialled
	Setting    string // begins the names of the settings in errors, such as "redis-tls"
}

// Client makes the TLS configurations of connections. It is safe for concurrent use.
type Client struct {
	serverName string
	files      *follower[trust]
}

// trust is what the files hold.
type trust struct {
	roots *x509.CertPool // nil: the system's
	own   []tls.Certificate
}

// NewClient reads the files. Its errors name the setting and the file.
func NewClient(f Files) (*Client, error) {
	if (f.Cert == "") != (f.Key == "") {
		return nil, fault.Newf(fault.Invalid, "--%s-cert and --%s-key go together", f.Setting, f.Setting)
	}
	files := []file{{f.Setting + "-ca", f.CA}, {f.Setting + "-cert", f.Cert}, {f.Setting + "-key", f.Key}}
	followed, err := follow(files, func(held []contents) (trust, error) {
		var t trust
		var err error
		if held[0].path != "" {
			if t.roots, err = pool(held[0]); err != nil {
				return t, err
			}
		}
		if held[1].path != "" {
			own, err := pair(held[1], held[2])
			if err != nil {
				return t, err
			}
			t.own = []tls.Certificate{own}
		}
		return t, nil
	})
	if err != nil {
		return nil, err
	}
	return &Client{serverName: f.ServerName, files: followed}, nil
}

// System is the client without any file: it trusts whom the system trusts.
func System() *Client {
	c, err := NewClient(Files{})
	if err != nil {
		panic(err) // there is no file to be wrong
	}
	return c
}

// Config returns the configuration for one connection to an address, host:port or
// host. Make one for each: a later one may be of other files. protocols are offered
// by ALPN.
func (c *Client) Config(address string, protocols ...string) *tls.Config {
	name := c.serverName
	if name == "" {
		name = hostOf(address)
	}
	t := c.files.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: name, RootCAs: t.roots, Certificates: t.own, NextProtos: protocols,
	}
}

// Dial connects to host:port and verifies the server, all within timeout. protocols
// are offered by ALPN.
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
