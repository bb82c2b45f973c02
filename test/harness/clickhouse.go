package harness

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/control"
)

// Control is the note of the running server: where its engines are.
func (s *Server) Control() control.Server {
	s.t.Helper()
	running, err := control.Read(s.DataDir)
	require.NoError(s.t, err)
	return running
}

// AskClickHouse runs a statement on the server's own embedded ClickHouse, past
// the server, and gives the answer, tab-separated.
func (s *Server) AskClickHouse(statement string) string {
	s.t.Helper()
	u, err := url.Parse(s.Control().ClickHouseURL)
	require.NoError(s.t, err)
	u.RawQuery = url.Values{"database": {strings.TrimPrefix(u.Path, "/")}}.Encode()
	u.Path = "/"
	response, err := s.client.Post(u.String(), "text/plain", strings.NewReader(statement))
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, response.StatusCode, "%s: %s", statement, body)
	return strings.TrimSpace(string(body))
}
