package api

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/api/reply"
)

// net/http answers what it cannot parse (a bad request line, a header beyond all
// limits, an unknown transfer encoding) before any handler, in plain text. Those
// answers are recognised on their way out and get the envelope as well.
//
// The text between status line and body is the constant errorHeaders of
// net/http/server.go; no answer of ours has it.
var bareHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// wrapBare wraps a connection of HTTP/1.
func (s *Server) wrapBare(conn net.Conn) *bareConn {
	return &bareConn{Conn: conn, version: s.deps.Version, refused: s.metrics.unreadable.Inc}
}

// bareListener wraps the connections of a listener without TLS.
type bareListener struct {
	net.Listener
	wrap func(net.Conn) *bareConn
}

// Accept implements net.Listener.
func (l *bareListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(conn), nil
}

type bareConn struct {
	net.Conn
	version string
	refused func()      // is told of each bare answer
	linger  atomic.Bool // a bare answer was written, see Close
}

// How long, and for how many bytes, a refused connection is read on.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 64 << 10
)

// Close ends the connection. After a bare answer it first says that nothing follows, and
// reads on for a moment what the client is still sending: closing with unread bytes resets
// the connection, and the client might lose the answer.
func (c *bareConn) Close() error {
	if c.linger.Swap(false) && c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	return c.Conn.Close()
}

// CloseWrite keeps net/http's orderly close of the writing side.
func (c *bareConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements net.Conn.
func (c *bareConn) Write(p []byte) (int, error) {
	const start = "HTTP/1.1 "
	if !bytes.HasPrefix(p, []byte(start)) {
		return c.Conn.Write(p)
	}
	statusLine, _, found := bytes.Cut(p, bareHeaders)
	if !found || bytes.Contains(statusLine, []byte("\r\n")) {
		return c.Conn.Write(p)
	}
	if err := c.answer(bareReason(string(statusLine[len(start):]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// bareReason says why a request never became one. The statuses that net/http has for
// it become those of the interface: too large, or malformed.
func bareReason(status string) (code, message string) {
	switch {
	case strings.HasPrefix(status, "431"):
		return "413 Request Entity Too Large", "The request header is too large"
	case strings.HasPrefix(status, "5"): // unknown transfer encodings, versions of HTTP
		return badRequest, "The request uses what this server does not support"
	}
	return badRequest, "The request cannot be read"
}

const badRequest = "400 Bad Request"

// answer writes a whole answer in the envelope.
func (c *bareConn) answer(code, message string) error {
	c.refused()
	c.linger.Store(true)
	id := reply.NewRequestID()
	body := fmt.Sprintf(`{"success":false,"error":{"code":"VALIDATION_ERROR","message":%q},"requestId":%q}`, message, id)
	slog.Info("request refused before routing", "status", code, "requestId", id)
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n"+
		"X-Request-Id: %s\r\nX-Livegraph-Version: %s\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n%s",
		code, len(body), id, c.version, body)
	return err
}
