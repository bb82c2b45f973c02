package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/livegraph/livegraph/api/reply"
)

const (
	// handshakeTimeout is the maximum duration of a TLS handshake.
	handshakeTimeout = 10 * time.Second
	// Limits of one HTTP/2 connection. maxStreams also bounds the running handlers of a client
	// that opens and resets streams, because net/http counts handlers that still run.
	// https://go.dev/issue/63417
	maxStreams        = 100
	bodyBuffer        = 1 << 20     // unread bytes of request bodies
	pingAfterIdle     = time.Minute // time without a frame after which a ping is sent
	pingTimeout       = 15 * time.Second
	writeStallTimeout = 30 * time.Second // time without progress of a write
	// Limits of answering a plain HTTP request: time, and bytes that are read after the response.
	refusalTimeout  = time.Second
	maxRefusalDrain = 64 << 10
)

// http2Limits returns the limits of one HTTP/2 connection.
func http2Limits() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: bodyBuffer, MaxReceiveBufferPerConnection: bodyBuffer,
		SendPingTimeout: pingAfterIdle, PingTimeout: pingTimeout, WriteByteTimeout: writeStallTimeout,
	}
}

// tlsListener completes the handshake of a connection before Accept returns it, so that a
// plain HTTP request gets a helpful response. Each handshake runs in its own goroutine; the
// inner listener limits the number of connections.
type tlsListener struct {
	net.Listener
	config  *tls.Config
	version string // for X-Livegraph-Version

	ready  chan net.Conn
	failed chan error
	ctx    context.Context //nolint:containedctx // of the goroutines; canceled by Close
	cancel context.CancelFunc
	work   sync.WaitGroup
}

func newTLSListener(inner net.Listener, config *tls.Config, version string) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &tlsListener{
		Listener: inner, config: config, version: version, ctx: ctx, cancel: cancel,
		ready: make(chan net.Conn), failed: make(chan error),
	}
	l.work.Go(l.accept)
	return l
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.ready:
		return conn, nil
	case err := <-l.failed:
		return nil, err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// accept accepts connections until the listener is closed. It passes errors to net/http,
// which waits before it retries.
func (l *tlsListener) accept() {
	for {
		conn, err := l.Listener.Accept()
		if err == nil {
			l.work.Go(func() { l.handshake(conn) })
			continue
		}
		select {
		case l.failed <- err:
		case <-l.ctx.Done():
			return
		}
	}
}

// Close implements net.Listener. It aborts running handshakes.
func (l *tlsListener) Close() error {
	err := l.Listener.Close()
	l.cancel()
	l.work.Wait()
	return err
}

func (l *tlsListener) handshake(raw net.Conn) {
	ctx, cancel := context.WithTimeout(l.ctx, handshakeTimeout)
	defer cancel()
	conn := tls.Server(raw, l.config)
	if err := conn.HandshakeContext(ctx); err != nil {
		l.refuse(raw, err)
		return
	}
	select {
	case l.ready <- conn:
	case <-l.ctx.Done():
		_ = raw.Close() // without a close_notify alert
	}
}

// refuse closes a connection whose handshake failed. It answers a plain HTTP request first.
func (l *tlsListener) refuse(raw net.Conn, err error) {
	defer func() { _ = raw.Close() }()
	slog.Debug("TLS handshake failed", "ip", raw.RemoteAddr(), "error", err)
	var header tls.RecordHeaderError
	if !errors.As(err, &header) || header.Conn == nil || !beginsRequest(header.RecordHeader) {
		return
	}
	_ = raw.SetDeadline(time.Now().Add(refusalTimeout))
	l.refusePlainHTTP(raw)
	_, _ = io.CopyN(io.Discard, raw, maxRefusalDrain) // closing with unread data would reset the connection
}

// refusePlainHTTP answers a plain HTTP request with an error in the envelope.
func (l *tlsListener) refusePlainHTTP(raw net.Conn) {
	id := reply.NewRequestID()
	body := fmt.Sprintf(`{"success":false,"error":{"code":"VALIDATION_ERROR","message":%q},"requestId":%q}`,
		"This port speaks HTTPS: use https:// in the address", id)
	slog.Info("plain HTTP request refused", "requestId", id)
	_, _ = fmt.Fprintf(
		raw, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n"+
			"X-Request-Id: %s\r\nX-Livegraph-Version: %s\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n%s",
		len(body), id, l.version, body,
	) // fails only if the client has disconnected
}

// beginsRequest reports whether head is the beginning of an HTTP request.
func beginsRequest(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}
