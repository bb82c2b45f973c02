package client

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFailure checks that any answer of a server, or of a proxy in front of it, results in
// an error with a message.
func FuzzFailure(f *testing.F) {
	f.Add(404, []byte(
		`{"success":false,"error":{"code":"NOT_FOUND","message":"No such node","details":{"field":"id"}},`+
			`"requestId":"req_1"}`,
	))
	f.Add(502, []byte("<html>"))
	f.Add(302, []byte(`{"error":{"details":[]}}`))
	f.Add(999, []byte{})
	f.Fuzz(func(t *testing.T, status int, payload []byte) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/x"}}
		err := failure(r, &http.Response{StatusCode: status, Header: http.Header{}}, payload)
		require.Error(t, err)
		_ = err.Error()
	})
}
