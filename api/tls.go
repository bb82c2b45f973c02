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
	// handshakeTimeout is what a client has for its side of TLS.
	handshakeTimeout = 10 * time.Second
	// Bounds of one connection of HTTP/2. A client that opens and resets streams has
	// no more handlers at work than streams: net/http counts those that still run.
	// https://go.dev/issue/63417
	maxStreams     = 100
	bodyBuffer     = 1 << 20     // bytes of its bodies that wait for their handlers
	deadPeer       = time.Minute // without a frame; then the peer is asked for a sign of life
	pingAnswer     = 15 * time.Second
	standingWriter = 30 * time.Second // without a byte taken
	// A request in the clear is answered within refusalTime, and read this far.
	refusalTime = time.Second
	refusalRest = 64 << 10
)

// http2Limits bound what one connection can hold.
func http2Limits() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: bodyBuffer, MaxReceiveBufferPerConnection: bodyBuffer,
		SendPingTimeout: deadPeer, PingTimeout: pingAnswer, WriteByteTimeout: standingWriter,
	}
}

// tlsListener makes the handshakes before it hands connections out, so that one in the
// clear gets an answer that helps. Each handshake has its own goroutine; the
// listener below bounds how many connections there are.
type tlsListener struct {
	net.Listener
	config  *tls.Config
	version string // for X-Livegraph-Version

	ready  chan net.Conn
	failed chan error
	ctx    context.Context //nolint:containedctx // of the goroutines: it ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
}

func encrypt(below net.Listener, config *tls.Config, version string) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &tlsListener{
		Listener: below, config: config, version: version, ctx: ctx, cancel: cancel,
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

// accept takes connections until the listener is closed. Errors go to net/http, which
// knows for how long to wait after which.
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

// Close implements net.Listener. Handshakes that are not over are broken off.
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
		_ = raw.Close() // nobody is there any more to say goodbye to
	}
}

// refuse ends a connection without TLS. To a request in the clear it says why.
func (l *tlsListener) refuse(raw net.Conn, err error) {
	defer func() { _ = raw.Close() }()
	slog.Debug("TLS handshake failed", "ip", raw.RemoteAddr(), "error", err)
	var header tls.RecordHeaderError
	if !errors.As(err, &header) || header.Conn == nil || !beginsRequest(header.RecordHeader) {
		return
	}
	_ = raw.SetDeadline(time.Now().Add(refusalTime))
	l.refuseClear(raw)
	_, _ = io.CopyN(io.Discard, raw, refusalRest) // or the answer would be lost
}

// refuseClear answers a request in the clear, in the envelope.
func (l *tlsListener) refuseClear(raw net.Conn) {
	id := reply.NewRequestID()
	body := fmt.Sprintf(`{"success":false,"error":{"code":"VALIDATION_ERROR","message":%q},"requestId":%q}`,
		"This port speaks HTTPS: use https:// in the address", id)
	slog.Info("request in the clear refused", "requestId", id)
	_, _ = fmt.Fprintf(
		raw, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n"+
			"X-Request-Id: %s\r\nX-Livegraph-Version: %s\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n%s",
		len(body), id, l.version, body,
	) // the client is gone: nothing to do
}

// beginsRequest reports whether the first bytes are those of an HTTP request.
func beginsRequest(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}
