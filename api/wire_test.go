package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Stored data is sent unchanged even if it looks like protocol text: here like the response
// of net/http to a request that it cannot parse.
func TestAnAnswersBytesAreNotChangedOnTheConnection(t *testing.T) {
	body := "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
		strings.Repeat("x", 64<<10)
	workspace := uuid.New()
	key := oneKey{&access.Credential{
		ID: uuid.New(), Mode: "live", Scopes: []string{"admin"},
		Workspaces: map[uuid.UUID]access.Access{workspace: {Mode: "live"}},
	}}
	server, err := api.New(api.Deps{Config: publicConfig(), Version: "test", Keys: key, Routes: []route.Route{{
		Method: http.MethodGet, Pattern: "/api/values", Scopes: []request.Scope{request.Admin},
		Handle: func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(http.StatusOK)
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
			_, err := io.WriteString(w, body)
			return err
		},
	}}})
	require.NoError(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", startServer(t, server))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(
		conn, "GET /api/values HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nX-Workspace-Id: %s\r\n\r\n", workspace,
	)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, body, string(got))
}
