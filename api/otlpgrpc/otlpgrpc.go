// Package otlpgrpc serves the metrics service of OpenTelemetry over gRPC
// (https://opentelemetry.io/docs/specs/otlp/#otlpgrpc), on a listener of its own.
//
// A request is passed to the HTTP handler of the API as a request to /v1/metrics with the same metadata, so that keys,
// scopes, limits, the audit log and errors are those of that route. Its message is read only after these checks.
package otlpgrpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // clients compress with it
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/livegraph/livegraph/api/inprocess"
)

const (
	// maxMessageBytes is the maximum size of a message, decompressed. It is the usual limit of gRPC.
	maxMessageBytes = 4 << 20
	// maxMessages is the maximum number of messages in memory. Their bytes are copied into the budget of bodies.
	maxMessages = 16
	// maxStreams is the maximum number of concurrent requests of a connection.
	maxStreams = 64
	// maxMetadataBytes is the maximum size of a request's metadata.
	maxMetadataBytes = 64 << 10
	idleTimeout      = 2 * time.Minute
	connectTimeout   = 10 * time.Second
	protobufType     = "application/x-protobuf"
)

// Server serves metrics over gRPC.
type Server struct {
	// Handler is the HTTP handler of the API, and Path the path of its route for metrics.
	Handler http.Handler
	Path    string
	// TLS is the configuration of the listener; nil: no TLS.
	TLS *tls.Config
	// ShutdownTimeout is how long requests in flight may take after the end of the context.
	ShutdownTimeout time.Duration

	messages chan struct{} // contains an element for each message in memory
}

// Serve serves requests on the listener until ctx is done, and closes it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	s.messages = make(chan struct{}, maxMessages)
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{}), grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxMetadataBytes), grpc.ConnectionTimeout(connectTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTimeout}),
	}
	if s.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.TLS.Clone())))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.metrics.v1.MetricsService", HandlerType: (*any)(nil),
		// A call with one message each way is the same on the wire as a stream. As a stream, its message can be
		// read after the key has been checked.
		Streams: []grpc.StreamDesc{{StreamName: "Export", Handler: s.export, ServerStreams: true, ClientStreams: true}},
	}, s)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving OTLP over gRPC: %w", err)
	case <-ctx.Done():
	}
	stop := time.AfterFunc(s.ShutdownTimeout, server.Stop)
	defer stop.Stop()
	server.GracefulStop()
	return <-failed // nil after a stop
}

// export answers a call of MetricsService.Export.
func (s *Server) export(_ any, stream grpc.ServerStream) error {
	body := &message{stream: stream, messages: s.messages}
	defer body.release()
	r, err := http.NewRequestWithContext(stream.Context(), http.MethodPost, "http://livegraph"+s.Path, body)
	if err != nil {
		return status.Error(codes.Internal, "Internal server error")
	}
	r.ContentLength = -1
	r.Header = headers(stream.Context())
	if from, ok := peer.FromContext(stream.Context()); ok {
		r.RemoteAddr = from.Addr.String()
	}
	w := inprocess.NewResponse()
	s.Handler.ServeHTTP(w, r)
	if body.err != nil {
		return body.err
	}
	if w.Status != http.StatusOK {
		return failure(w)
	}
	reply := w.Body.Bytes()
	return stream.SendMsg(&reply)
}

// headers returns the headers of the HTTP request for a call's metadata. Those of gRPC and HTTP/2 are left out.
func headers(ctx context.Context) http.Header {
	h := http.Header{}
	incoming, _ := metadata.FromIncomingContext(ctx)
	for name, values := range incoming {
		if name == "content-type" || name == "te" || name == "content-encoding" || name == "connection" ||
			strings.HasPrefix(name, ":") || strings.HasPrefix(name, "grpc-") || strings.HasSuffix(name, "-bin") {
			continue
		}
		for _, value := range values {
			h.Add(name, value)
		}
	}
	h.Set("Content-Type", protobufType)
	return h
}

// message is the message of a call, which is received when the body is read.
type message struct {
	stream   grpc.ServerStream
	messages chan struct{}
	held     bool
	reader   *bytes.Reader
	err      error
}

// Read implements io.Reader.
func (m *message) Read(p []byte) (int, error) {
	if m.reader == nil {
		if err := m.receive(); err != nil {
			m.err = err
			return 0, err
		}
	}
	return m.reader.Read(p)
}

func (m *message) receive() error {
	select {
	case m.messages <- struct{}{}:
		m.held = true
	default:
		return retryLater(status.New(codes.Unavailable, "Too many requests are being worked on"), time.Second).Err()
	}
	var b []byte
	if err := m.stream.RecvMsg(&b); err != nil {
		if err == io.EOF { //nolint:errorlint // gRPC returns it unwrapped
			return status.Error(codes.InvalidArgument, "body: is empty")
		}
		return err
	}
	m.reader = bytes.NewReader(b)
	return nil
}

// Close implements io.Closer.
func (m *message) Close() error { return nil }

func (m *message) release() {
	if m.held {
		<-m.messages
	}
}

// failure returns the error of a response, whose body is a google.rpc.Status.
func failure(w *inprocess.Response) error {
	var p rpcstatus.Status
	if w.Header().Get("Content-Type") != protobufType || proto.Unmarshal(w.Body.Bytes(), &p) != nil || p.Code == 0 {
		return status.Error(codes.Internal, "Internal server error")
	}
	s := status.FromProto(&p)
	for _, detail := range s.Details() {
		if _, ok := detail.(*errdetails.RetryInfo); ok {
			return s.Err()
		}
	}
	if seconds, err := strconv.Atoi(w.Header().Get("Retry-After")); err == nil {
		s = retryLater(s, time.Duration(seconds)*time.Second)
	}
	return s.Err()
}

// retryLater adds the time after which the client should retry.
func retryLater(s *status.Status, after time.Duration) *status.Status {
	if with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		return with
	}
	return s
}

// codec passes the bytes of messages on as they are.
type codec struct{}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("message of type %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("message of type %T", v)
	}
	*b = data.Materialize()
	return nil
}
