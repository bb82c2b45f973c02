package otlpgrpc

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
)

// reflecting is a handler that records a request and answers as the fuzzer chooses.
type reflecting struct {
	body, answer []byte
	header       http.Header
	status       int
	retryAfter   string
}

// ServeHTTP implements http.Handler.
func (h *reflecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.body, _ = io.ReadAll(r.Body)
	h.header = r.Header.Clone()
	w.Header().Set("Content-Type", protobufType)
	w.Header().Set("Retry-After", h.retryAfter)
	w.WriteHeader(h.status)
	_, _ = w.Write(h.answer)
}

// isMetadata reports whether clients of gRPC may send a header.
func isMetadata(name, value string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	isOther := func(c rune) bool { return !strings.ContainsRune(allowed, c) }
	isControl := func(c rune) bool { return c < ' ' || c > '~' }
	return name != "" && !strings.ContainsFunc(name, isOther) && !strings.ContainsFunc(value, isControl) &&
		!strings.HasPrefix(name, "grpc-") && !strings.HasSuffix(name, "-bin") && value == strings.TrimSpace(value)
}

// FuzzCalls requires that a call of any message and header is the request of the same body and header, without those of
// gRPC, and that each answer is either a message or an error.
func FuzzCalls(f *testing.F) {
	refusal, err := proto.Marshal(&rpcstatus.Status{Code: int32(codes.Unauthenticated), Message: "Unauthorized"})
	require.NoError(f, err)
	f.Add([]byte("message"), "x-workspace-id", "a", uint16(200), "", []byte("reply"))
	f.Add([]byte{}, "content-type", "application/json", uint16(401), "", refusal)
	f.Add([]byte{1}, "content-encoding", "gzip", uint16(503), "7", refusal)
	f.Add([]byte{1}, "te", "trailers", uint16(429), "-1", []byte("no status"))
	f.Add([]byte{1}, "connection", "close", uint16(500), "99999999999", []byte{8, 0})
	h := &reflecting{}
	listener := bufconn.Listen(1 << 16)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := Server{Handler: h, Path: "/v1/metrics", ShutdownTimeout: time.Second}
	go func() { done <- server.Serve(ctx, listener) }()
	client, err := grpc.NewClient("passthrough:///fuzz", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{})))
	require.NoError(f, err)
	f.Cleanup(func() {
		require.NoError(f, client.Close())
		stop()
		require.NoError(f, <-done)
	})
	f.Fuzz(func(t *testing.T, body []byte, name, value string, code uint16, retryAfter string, answer []byte) {
		if !isMetadata(name, value) {
			t.Skip()
		}
		*h = reflecting{status: 200 + int(code)%400, answer: answer, retryAfter: retryAfter}
		call := metadata.AppendToOutgoingContext(t.Context(), name, value)
		var reply []byte
		err := client.Invoke(call, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", &body, &reply)
		if h.header == nil { // a header that gRPC itself refuses
			require.Error(t, err)
			return
		}
		require.True(t, bytes.Equal(body, h.body))
		require.Equal(t, []string{protobufType}, h.header.Values("Content-Type"))
		for _, own := range []string{"Te", "Content-Encoding", "Connection"} {
			require.Empty(t, h.header.Values(own))
		}
		if got := h.header.Get(name); got != value {
			require.Contains(t, []string{"content-type", "te", "content-encoding", "connection", "user-agent"}, name)
		}
		if h.status == http.StatusOK {
			require.NoError(t, err)
			require.True(t, bytes.Equal(answer, reply))
			return
		}
		require.NotEqual(t, codes.OK, status.Code(err), "%d %q", h.status, answer)
	})
}
