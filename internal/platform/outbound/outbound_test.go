package outbound_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/outbound"
)

func get(t *testing.T, g *outbound.Guard, address string) (status int, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := g.Client.Do(request)
	if err != nil {
		return 0, err
	}
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, nil
}

func TestNoRequestGoesToAPrivateAddress(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	guard := outbound.New(nil)
	for _, host := range []string{
		"127.0.0.1", "localhost", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]",
	} {
		_, err := get(t, guard, "http://"+host+port)
		require.Error(t, err, host)
		require.True(t, outbound.Refused(err), "%s: %v", host, err)
		require.Equal(t, "requests to private addresses are not allowed", outbound.Reason(err))
	}
	require.Zero(t, requests)

	guard = outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	status, err := get(t, guard, server.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, requests)
}

func TestReasonsContainNothingOfTheAddress(t *testing.T) {
	guard := outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cut.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	for address, reason := range map[string]string{
		"http://secret.invalid/": "the name of the host cannot be resolved", silent.URL: "no answer in time",
		closed.URL: "the receiver refuses connections", cut.URL: "the connection failed",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		require.NoError(t, err)
		_, err = guard.Client.Do(request)
		require.Error(t, err, address)
		if reason != "the name of the host cannot be resolved" { // a resolver may not answer in time
			require.Equal(t, reason, outbound.Reason(err), "%v", err)
		}
		require.NotContains(t, outbound.Reason(err), "secret")
		cancel()
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	status, err := get(t, outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), server.URL+"/here")
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, status)
	require.Equal(t, []string{"/here"}, asked)
}

func TestTheProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	transport, ok := outbound.New(nil).Client.Transport.(*http.Transport)
	require.True(t, ok)
	require.Nil(t, transport.Proxy)
}

func TestURLsAreChecked(t *testing.T) {
	guard := outbound.New([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")})
	for _, address := range []string{
		"https://hooks.example.com/x?y=1", "http://8.8.8.8:9093", "https://10.1.2.3/", "https://[fd00::1]:8443/hook",
		"https://[2606:4700::1111]/", "https://[::ffff:10.1.2.3]/", "https://[::ffff:8.8.8.8]/",
	} {
		require.NoError(t, guard.CheckURL(address), address)
	}
	for address, reason := range map[string]string{
		"":                              "begins with https://",
		"ftp://example.com":             "begins with https://",
		"https://":                      "begins with https://",
		"//example.com":                 "begins with https://",
		"javascript:alert(1)":           "begins with https://",
		"https://a:b@example.com":       "user or a password",
		"https://example.com/#x":        "fragment",
		"http://localhost:9093":         "server itself",
		"http://Alerts.LOCALHOST.:9093": "server itself",
		"http://10.2.0.1":               "private address",
		"http://192.168.1.1":            "private address",
		"http://172.16.0.1":             "private address",
		"http://169.254.169.254/latest": "private address",
		"http://100.64.0.1":             "private address",
		"http://224.0.0.1":              "private address",
		"http://255.255.255.255":        "private address",
		"http://[::ffff:10.2.0.1]":      "private address",
		"http://[64:ff9b::a00:1]":       "private address",
		"http://[fe80::1]":              "private address",
		"http://[2002:7f00:1::]":        "private address",
	} {
		require.ErrorContains(t, guard.CheckURL(address), reason, address)
	}
}
