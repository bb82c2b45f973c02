package harness

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/proxy"
)

// Proxy is a TCP proxy to a server. It can cut and restore its connections without any
// effect on the server and on other connections to it.
type Proxy struct{ proxy *proxy.Proxy }

// NewProxy starts a proxy to the host and port of an engine's URL, and returns the URL of
// the engine through the proxy. The proxy stops when the test ends.
func NewProxy(t testing.TB, engine string) (v *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(engine)
	require.NoError(t, err)
	p, err := proxy.Listen("127.0.0.1:0", u.Host, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	u.Host = p.Address()
	return &Proxy{p}, u.String()
}

// Cut closes the connections and refuses new ones.
func (v *Proxy) Cut() { v.proxy.Apply(proxy.Rule{Refuse: true}) }

// Restore accepts connections again.
func (v *Proxy) Restore() { v.proxy.ClearRules() }
