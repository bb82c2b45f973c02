package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

func TestCallersShareAnAddressBehindAProxyThatIsNotTrusted(t *testing.T) {
	for _, test := range []struct {
		listen, public string
		trusted        []string
		want           bool
	}{
		{listen: "127.0.0.1:8080"},
		{listen: "localhost:8080"},
		{listen: "[::1]:8080", public: "http://localhost:8080"},
		{listen: "0.0.0.0:8080", want: true},
		{listen: ":8080", want: true},
		{listen: "livegraph.internal:8080", want: true},
		{listen: "127.0.0.1:8080", public: "https://livegraph.example", want: true}, // a proxy on this machine
		{listen: "0.0.0.0:8080", trusted: []string{"10.0.0.0/8"}},
	} {
		c := config.Config{Listen: test.listen, Roles: []string{"all"}}
		c.API.PublicURL, c.API.TrustedProxies = test.public, test.trusted
		require.Equal(t, test.want, c.SharesAddresses(), "%+v", test)
		c.Roles = []string{"points"}
		require.False(t, c.SharesAddresses(), "without the role api nobody logs in")
	}
}

func TestMetricsListenInOneNetworkAlone(t *testing.T) {
	address, err := config.Metrics{Listen: "127.0.0.0/8:9464"}.Address()
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:9464", address)
	address, err = config.Metrics{Listen: "0.0.0.0:9464"}.Address()
	require.NoError(t, err)
	require.Equal(t, "0.0.0.0:9464", address)
	_, err = config.Metrics{Listen: "198.51.100.0/24:9464"}.Address() // reserved for documentation
	require.ErrorContains(t, err, "198.51.100.0/24")
	require.False(t, config.Metrics{Listen: "127.0.0.0/8:1"}.Exposed())
	require.True(t, config.Metrics{Listen: "172.30.254.0/24:1"}.Exposed())
}
