// Package secure configures TLS and SASL of the connections to Kafka's brokers, and explains why a broker refuses one.
package secure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Config configures TLS and SASL of a client. The zero value is plaintext without a login.
type Config struct {
	tls  *tlsconfig.Client
	sasl sasl.Mechanism
}

// New returns a Config with TLS unless files is nil, and with a login unless mechanism is empty.
// A broker's certificate must be valid for its host, or for the server name of files if it has one.
func New(files *tlsconfig.Client, mechanism, username, password string) (Config, error) {
	s := Config{tls: files}
	switch strings.ToLower(mechanism) {
	case "":
	case Plain:
		s.sasl = plain.Auth{User: username, Pass: password}.AsMechanism()
	case Scram256:
		s.sasl = scram.Auth{User: username, Pass: password}.AsSha256Mechanism()
	case Scram512:
		s.sasl = scram.Auth{User: username, Pass: password}.AsSha512Mechanism()
	default:
		return s, fmt.Errorf("kafka: unknown SASL mechanism %q", mechanism)
	}
	return s, nil
}

// SASL mechanisms.
const (
	Plain    = "plain" // sends the password unencrypted
	Scram256 = "scram-sha-256"
	Scram512 = "scram-sha-512"
)

// DialFunc opens a plaintext connection to a broker.
type DialFunc func(ctx context.Context, network, host string) (net.Conn, error)

// Opts returns the options of a franz-go client with this configuration. dial opens plaintext connections; nil: the
// usual way. limit is the timeout for connecting, including the TLS handshake.
func (s *Config) Opts(dial DialFunc, limit time.Duration) []kgo.Opt {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	opts := []kgo.Opt{kgo.Dialer(s.dialer(dial, limit))}
	if s.sasl != nil {
		opts = append(opts, kgo.SASL(s.sasl))
	}
	return opts
}

// dialer returns a dialer with a timeout that also does the TLS handshake, if TLS is configured.
func (s *Config) dialer(dial DialFunc, limit time.Duration) DialFunc {
	return func(ctx context.Context, network, host string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		conn, err := dial(ctx, network, host)
		if err != nil || s.tls == nil {
			return conn, err
		}
		tlsConn := tls.Client(conn, s.tls.Config(host))
		if err := tlsConn.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, handshakeError(conn, err)
		}
		return tlsConn, nil
	}
}

// errNoHandshake is the error of a server that does not respond as a TLS server: Apache Kafka closes
// the connection, other servers wait for more data.
var errNoHandshake = errors.New("no TLS handshake with the broker")

// handshakeError returns a handshake error as a dial error. franz-go handles it like a refused
// connection: it tries another broker instead of retrying indefinitely.
func handshakeError(conn net.Conn, err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		err = fmt.Errorf("%w: it closed the connection", errNoHandshake) // without the EOF, which franz-go would retry
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: %w", errNoHandshake, err)
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: conn.RemoteAddr(), Err: err}
}
