package promql_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// operator is logged in to the admin UI.
type operator struct {
	url, cookie, token string
}

// login logs in as the first operator.
func (s *server) login(t *testing.T) *operator {
	t.Helper()
	var first struct{ AdminUser, AdminPassword string }
	text, err := os.ReadFile(filepath.Join(s.dir, "first-run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &first))
	o := &operator{url: s.url}
	var session struct{ CSRFToken string }
	header := o.post(t, "/session", map[string]any{"name": first.AdminUser, "password": first.AdminPassword}, &session)
	o.cookie, o.token = header.Get("Set-Cookie"), session.CSRFToken
	return o
}

// post sends a request that creates something, and decodes the data of the answer.
func (o *operator) post(t *testing.T, path string, body, data any) http.Header {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequest(http.MethodPost, o.url+"/admin/api"+path, bytes.NewReader(text))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Cookie": o.cookie, "X-CSRF-Token": o.token, "Origin": o.url,
		"Sec-Fetch-Site": "same-origin",
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, "%s: %s", path, text)
	envelope := struct{ Data any }{data}
	require.NoError(t, json.Unmarshal(text, &envelope), "%s", text)
	return response.Header
}

// newWorkspaces creates workspaces without limits, and returns the server as the client of each.
func (s *server) newWorkspaces(t *testing.T, count int) (list []*server) {
	t.Helper()
	o := s.login(t)
	ids := make([]string, count)
	for i := range ids {
		var created struct{ ID string }
		o.post(t, "/workspaces", map[string]any{"name": fmt.Sprintf("promql %d", i), "plan": "enterprise"}, &created)
		ids[i] = created.ID
	}
	var created struct{ Key string }
	o.post(t, "/keys", map[string]any{
		"name": "promql", "workspaces": ids, "scopes": []string{"read:livedata", "write:livedata"},
	}, &created)
	for _, id := range ids {
		list = append(list, &server{url: s.url, dir: s.dir, workspace: id, admin: created.Key})
	}
	return list
}
