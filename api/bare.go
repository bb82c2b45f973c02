package api

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/livegraph/livegraph/api/reply"
)

// net/http answers what it cannot parse (a bad request line, a header beyond all
// limits, an unknown transfer encoding) before any handler, in plain text. Those
// answers are recognised on their way out and get the envelope as well.
//
// The text between status line and body is the constant errorHeaders of
// net/http/server.go; no answer of ours has it.
var bareHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// envelopeBareErrors wraps the listener's connections.
func (s *Server) envelopeBareErrors(l net.Listener) net.Listener {
	return &bareListener{Listener: l, version: s.deps.Version, refused: s.metrics.unreadable.Inc}
}

type bareListener struct {
	net.Listener
	version string
	refused func() // is told of each
}

// Accept implements net.Listener.
func (l *bareListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &bareConn{Conn: conn, version: l.version, refused: l.refused}, nil
}

type bareConn struct {
	net.Conn
	version string
	refused func()
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
	c.refused()
	if _, err := io.WriteString(c.Conn, bareAnswer(string(statusLine[len(start):]), c.version)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// bareAnswer makes the answer to a request that never became one. The statuses
// net/http has for it become those of the interface: too large, or malformed.
func bareAnswer(status, version string) string {
	code, message := "400 Bad Request", "The request cannot be read"
	switch {
	case strings.HasPrefix(status, "431"):
		code, message = "413 Request Entity Too Large", "The request header is too large"
	case strings.HasPrefix(status, "5"): // unknown transfer encodings, versions of HTTP
		message = "The request uses what this server does not support"
	}
	id := reply.NewRequestID()
	body := fmt.Sprintf(`{"success":false,"error":{"code":"VALIDATION_ERROR","message":%q},"requestId":%q}`, message, id)
	slog.Info("request refused before routing", "status", code, "requestId", id)
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n"+
		"X-Request-Id: %s\r\nX-Livegraph-Version: %s\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n%s",
		code, len(body), id, version, body)
}
