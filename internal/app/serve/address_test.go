package serve

import (
	"bytes"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/services/firstrun"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestTheAddressMatchesTheCertificate(t *testing.T) {
	t.Parallel()
	ca := testenv.NewAuthority(t)
	loopback := ca.Sign("plant.example", time.Hour) // and 127.0.0.1
	for name, c := range map[string]struct {
		cert, publicURL, listen string
		url, local, trust       string
	}{
		"plain HTTP": {listen: "127.0.0.1:80", url: "http://127.0.0.1:80", local: "127.0.0.1:80"},
		"all addresses": {
			listen: "0.0.0.0:80", url: "http://127.0.0.1:80", local: "127.0.0.1:80",
		},
		"all addresses of IPv6": {listen: "[::]:80", url: "http://127.0.0.1:80", local: "127.0.0.1:80"},
		"behind a proxy": {
			listen: "127.0.0.1:80", publicURL: "https://plant", url: "https://plant", local: "127.0.0.1:80",
		},
		"the certificate covers the address": {
			cert: loopback.Combined, listen: "127.0.0.1:443", url: "https://127.0.0.1:443", local: "127.0.0.1:443",
			trust: loopback.Combined,
		},
		"the certificate has another name": {
			cert: loopback.Combined, listen: "10.0.0.1:443", url: "https://plant.example:443", local: "10.0.0.1:443",
			trust: loopback.Combined,
		},
	} {
		cfg := &config.Config{TLS: config.TLS{Cert: c.cert, Key: c.cert}}
		cfg.API.PublicURL = c.publicURL
		addr, err := net.ResolveTCPAddr("tcp", c.listen)
		require.NoError(t, err)
		got, err := listen(cfg, addr)
		require.NoError(t, err, name)
		require.Equal(t, []string{c.url, c.local, c.trust}, []string{got.url, got.local, got.trust}, name)
		require.Equal(t, c.cert != "", got.tls() != nil, name)
	}
	_, err := listen(&config.Config{TLS: config.TLS{Cert: "nowhere.pem", Key: "nowhere.pem"}}, &net.TCPAddr{})
	require.ErrorContains(t, err, "nowhere.pem")
}

func TestKeysThatAreSentUnencryptedAreReported(t *testing.T) {
	t.Parallel()
	const unencrypted, shared = "API keys and data are sent unencrypted", "no proxy is trusted"
	for name, c := range map[string]struct {
		listen, publicURL string
		roles, proxies    []string
		want, not         string
	}{
		"on this machine":     {listen: "127.0.0.1:80", not: "WARN"},
		"on all addresses":    {listen: ":80", want: unencrypted},
		"a proxy on TLS":      {listen: ":80", publicURL: "https://plant", want: shared, not: unencrypted},
		"a trusted proxy":     {listen: ":80", publicURL: "https://plant", proxies: []string{"10.0.0.0/8"}, not: "WARN"},
		"no API":              {listen: ":80", roles: []string{"points"}, not: "WARN"},
		"a proxy before us":   {listen: "127.0.0.1:80", publicURL: "https://plant", want: shared, not: unencrypted},
		"a public URL on us":  {listen: "127.0.0.1:80", publicURL: "http://localhost", not: "WARN"},
		"no encrypted access": {listen: ":80", publicURL: "http://plant", proxies: []string{"10.0.0.0/8"}, want: unencrypted},
	} {
		cfg := &config.Config{Listen: c.listen, Roles: c.roles}
		if c.roles == nil {
			cfg.Roles = []string{"all"}
		}
		cfg.API.PublicURL, cfg.API.TrustedProxies = c.publicURL, c.proxies
		var log bytes.Buffer
		address{}.warn(cfg, slog.New(slog.NewTextHandler(&log, nil)))
		require.Contains(t, log.String(), c.want, name)
		if c.not != "" {
			require.NotContains(t, log.String(), c.not, name)
		}
	}
}

func TestTheKeyIsPrintedOnceAndOnlyOnATerminal(t *testing.T) {
	t.Parallel()
	first := firstrun.Record{
		WorkspaceID: uuid.New(), AdminKey: "lg_live_secret", AdminUser: "admin", AdminPassword: "the password",
	}
	c := &Options{Config: &config.Config{DataDir: "/data", Roles: []string{"all"}}, Version: "1.2"}
	welcome := func(terminal, created bool, addr address) string {
		var out bytes.Buffer
		c.welcome(&output.Writer{Writer: &out}, terminal, addr, "http://127.0.0.1:9090/metrics", first, created)
		return out.String()
	}
	addr := address{url: "https://127.0.0.1:443", trust: "/my certs/ca.pem"}
	shown := welcome(true, true, addr)
	for _, text := range []string{
		"Livegraph 1.2 serves https://127.0.0.1:443\n", "interface   https://127.0.0.1:443/api/docs\n",
		"admin page  https://127.0.0.1:443/admin\n", "log in as   admin, password the password  (shown once; kept in ",
		"admin key   lg_live_secret  (shown once; kept in /data/first-run.json)",
		"curl -s --cacert '/my certs/ca.pem' https://127.0.0.1:443/api/live-data/sources",
		`-H "Authorization: Bearer lg_live_secret" -H "x-workspace-id: ` + first.WorkspaceID.String() + `"`,
		"metrics     http://127.0.0.1:9090/metrics\n", "live data   livegraph demo --data-dir /data\n",
	} {
		require.Contains(t, shown, text)
	}
	for _, text := range []string{welcome(false, true, addr), welcome(true, false, addr), welcome(false, false, addr)} {
		require.NotContains(t, text, "lg_live_secret")
		require.NotContains(t, text, "the password")
	}
	require.Contains(t, welcome(false, true, addr), "password are in /data/first-run.json")
	require.NotContains(t, welcome(true, false, addr), "first-run.json", "it has been removed")
	require.NotContains(t, welcome(true, true, address{url: "http://127.0.0.1:80"}), "--cacert")
	c.Roles, c.Demo = []string{"points"}, true
	require.NotContains(t, welcome(false, false, addr), "admin page")
	require.NotContains(t, welcome(false, false, addr), "livegraph demo")
}

func TestAServerThatCannotStartReportsTheSetting(t *testing.T) {
	t.Parallel()
	used, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = used.Close() }()
	for want, change := range map[string]func(*config.Config){
		"(choose another address with --listen)": func(c *config.Config) { c.Listen = used.Addr().String() },
		"(choose another address with --metrics-listen, or off)": func(c *config.Config) {
			c.Metrics.Listen = used.Addr().String()
		},
		"nowhere.pem":                 func(c *config.Config) { c.TLS = config.TLS{Cert: "nowhere.pem", Key: "x"} },
		"creating the data directory": func(c *config.Config) { c.DataDir = "/dev/null/data" },
		"nowhere.ca": func(c *config.Config) {
			c.Kafka.TLS, c.Kafka.Files.CA = true, "nowhere.ca"
		},
	} {
		cfg := &config.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", Roles: []string{"all"}}
		cfg.Metrics.Listen = "127.0.0.1:0"
		change(cfg)
		var out bytes.Buffer
		require.ErrorContains(t, Run(t.Context(), Options{Config: cfg, Version: "test"}, &out), want)
		require.Empty(t, out.String(), "no engine was started")
	}
}
