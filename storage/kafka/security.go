package kafka

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

// Security says whom a client believes to be a broker and how it logs in there. The
// zero value is plain text without a login.
type Security struct {
	tls  *tlsconfig.Client
	sasl sasl.Mechanism
}

// Secure makes one: with TLS unless files is nil, with a login unless mechanism is
// empty. A broker's certificate must be for its host, unless files has a name.
func Secure(files *tlsconfig.Client, mechanism, username, password string) (Security, error) {
	s := Security{tls: files}
	switch strings.ToLower(mechanism) {
	case "":
	case MechanismPlain:
		s.sasl = plain.Auth{User: username, Pass: password}.AsMechanism()
	case MechanismScram256:
		s.sasl = scram.Auth{User: username, Pass: password}.AsSha256Mechanism()
	case MechanismScram512:
		s.sasl = scram.Auth{User: username, Pass: password}.AsSha512Mechanism()
	default:
		return s, fmt.Errorf("kafka: no mechanism is called %q", mechanism)
	}
	return s, nil
}

// Mechanisms by which a user logs in.
const (
	MechanismPlain    = "plain" // sends the password as it is
	MechanismScram256 = "scram-sha-256"
	MechanismScram512 = "scram-sha-512"
)

// dialFunc makes a connection to a broker.
type dialFunc func(ctx context.Context, network, host string) (net.Conn, error)

// Opts are the options of a franz-go client that connects so, to be ready to log
// in within a time.
func (s *Security) Opts(limit time.Duration) []kgo.Opt {
	return s.over((&net.Dialer{}).DialContext, limit)
}

// over makes the options over a dialer of plain text.
func (s *Security) over(dial dialFunc, limit time.Duration) []kgo.Opt {
	opts := []kgo.Opt{kgo.Dialer(s.dialer(dial, limit))}
	if s.sasl != nil {
		opts = append(opts, kgo.SASL(s.sasl))
	}
	return opts
}

// dialer makes a dialer that ends within limit, with TLS spoken if there is one.
func (s *Security) dialer(dial dialFunc, limit time.Duration) dialFunc {
	return func(ctx context.Context, network, host string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		conn, err := dial(ctx, network, host)
		if err != nil || s.tls == nil {
			return conn, err
		}
		secure := tls.Client(conn, s.tls.Config(host))
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, handshakeError(conn, err)
		}
		return secure, nil
	}
}

// errNoHandshake says that the other side does not answer as one that speaks TLS:
// Apache Kafka closes the connection, others wait for more.
var errNoHandshake = errors.New("no TLS handshake with the broker")

// handshakeError makes the failure one of dialling. franz-go deals with it as with
// a refused connection: it looks for another broker instead of trying on and on.
func handshakeError(conn net.Conn, err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		err = fmt.Errorf("%w: it closed the connection", errNoHandshake) // without the EOF, which would be tried again
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: %w", errNoHandshake, err)
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: conn.RemoteAddr(), Err: err}
}
