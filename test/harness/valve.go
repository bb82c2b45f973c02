package harness

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/proxy"
)

// Valve is a way to a server that can be cut and joined again, while the server and
// other ways to it stay.
type Valve struct{ way *proxy.Proxy }

// NewValve opens a way to the host and port of an engine's URL, and gives the URL that
// leads through it. It ends with the test.
func NewValve(t testing.TB, engine string) (v *Valve, through string) {
	t.Helper()
	u, err := url.Parse(engine)
	require.NoError(t, err)
	way, err := proxy.Listen("127.0.0.1:0", u.Host, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = way.Close() })
	u.Host = way.Address()
	return &Valve{way}, u.String()
}

// Cut ends the connections and refuses new ones.
func (v *Valve) Cut() { v.way.Apply(proxy.Rule{Refuse: true}) }

// Join lets connections through again.
func (v *Valve) Join() { v.way.Heal() }
