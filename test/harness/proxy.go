package harness

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/proxy"
)

// Valve is a TCP proxy to a server. It can cut and restore its connections without any
// effect on the server and on other connections to it.
type Valve struct{ proxy *proxy.Proxy }

// NewValve starts a proxy to the host and port of an engine's URL, and returns the URL of
// the engine through the proxy. The proxy stops when the test ends.
func NewValve(t testing.TB, engine string) (v *Valve, through string) {
	t.Helper()
	u, err := url.Parse(engine)
	require.NoError(t, err)
	p, err := proxy.Listen("127.0.0.1:0", u.Host, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	u.Host = p.Address()
	return &Valve{p}, u.String()
}

// Cut closes the connections and refuses new ones.
func (v *Valve) Cut() { v.proxy.Apply(proxy.Rule{Refuse: true}) }

// Join accepts connections again.
func (v *Valve) Join() { v.proxy.ClearRules() }
