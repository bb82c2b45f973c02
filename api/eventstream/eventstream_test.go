package eventstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/eventstream"
)

func serve(handle func(s *eventstream.Writer)) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s, err := eventstream.Open(w, time.Second); err == nil {
			handle(s)
		}
	}))
}

func TestAStreamOutlastsTheServersLimits(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := eventstream.Open(w, time.Second)
		if err != nil {
			return
		}
		for range 4 {
			s.Comment("alive")
			if s.Flush() != nil || r.Context().Err() != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		s.Event("end", 0, []byte("1"))
		_ = s.Flush()
	}))
	server.Config.ReadTimeout, server.Config.WriteTimeout = 60*time.Millisecond, 60*time.Millisecond
	server.Start()
	defer server.Close()
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "event: end\ndata: 1\n\n")
}

func Example() {
	server := serve(func(s *eventstream.Writer) {
		s.Event("change", 42, []byte(`{"sequence":42}`))
		s.Comment("heartbeat")
		_ = s.Flush() // the reader is gone: nothing to do
	})
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	fmt.Print(string(body))
	// Output:
	// id: 42
	// event: change
	// data: {"sequence":42}
	//
	// : heartbeat
}
