package config

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// TLS is the listener's certificate. Without it the listener speaks plain HTTP.
type TLS struct {
	Cert string `help:"Certificate of the listener (PEM, its chain behind it); the files are followed when they change. Empty: plain HTTP." env:"LIVEGRAPH_TLS_CERT" placeholder:"FILE"`
	Key  string `help:"Its key (PEM, without a passphrase)." env:"LIVEGRAPH_TLS_KEY" placeholder:"FILE"`
}

func (t TLS) validate(bad func(setting, format string, args ...any)) {
	if (t.Cert == "") != (t.Key == "") {
		bad("tls-cert", "goes together with --tls-key")
	}
}

// Encrypted reports whether the listener speaks TLS.
func (t TLS) Encrypted() bool { return t.Cert != "" }

// CertPath is where the certificate is, for a process in another directory.
func (t TLS) CertPath() string { return absolute(t.Cert) }

// Server reads the listener's certificate; nil without one.
func (t TLS) Server() (*tlsconfig.Server, error) {
	if !t.Encrypted() {
		return nil, nil
	}
	return tlsconfig.NewServer("tls", t.Cert, t.Key)
}

// EngineTLS says how an engine that is reached by TLS is verified, and how Livegraph
// shows who it is. That TLS is spoken says the engine's address, by its scheme. The
// files are followed when they change.
type EngineTLS struct {
	CA         string `help:"CA certificates (PEM) that the engine's certificate is verified by; default: the system's." env:"CA" placeholder:"FILE" json:"ca,omitempty"`
	Cert       string `help:"Client certificate (PEM), if the engine wants one." env:"CERT" placeholder:"FILE" json:"cert,omitempty"`
	Key        string `help:"Its key (PEM, without a passphrase)." env:"KEY" placeholder:"FILE" json:"key,omitempty"`
	ServerName string `help:"Name expected in the engine's certificate; default: the address's host." env:"SERVER_NAME" placeholder:"NAME" json:"serverName,omitempty"`
}

// Absolute is the same for a process in another directory.
func (t EngineTLS) Absolute() EngineTLS {
	for _, path := range []*string{&t.CA, &t.Cert, &t.Key} {
		*path = absolute(*path)
	}
	return t
}

// absolute makes a path absolute, if there is one.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Client reads the files. setting begins the settings' names, such as redis-tls.
func (t EngineTLS) Client(setting string) (*tlsconfig.Client, error) {
	return tlsconfig.NewClient(
		tlsconfig.Files{CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName, Setting: setting},
	)
}

// validate checks the settings of the engine whose address has them. encrypted says
// whether the address speaks TLS, and how names the setting and what it would have to
// look like.
func (t EngineTLS) validate(setting string, encrypted bool, how string, bad func(setting, format string, args ...any)) {
	if (t.Cert == "") != (t.Key == "") {
		bad(setting+"-cert", "goes together with --%s-key", setting)
	}
	if t != (EngineTLS{}) && !encrypted {
		bad(setting+"-ca", "and the others of %s are for an address that speaks TLS: %s", setting, how)
	}
}

// validateEngines checks the TLS of the engines whose URLs have no parameters for it.
func (c *Config) validateEngines(bad func(setting, format string, args ...any)) {
	clickhouse, redis := parameters(c.ClickHouse.URL), parameters(c.Redis.URL)
	c.ClickHouse.TLS.validate(
		"clickhouse-tls", speaksTLS(clickhouse), "--clickhouse-url as clickhouse://…?secure=true or https://…", bad,
	)
	c.Redis.TLS.validate("redis-tls", speaksTLS(redis), "--redis-url as rediss://…", bad)
	c.Milvus.TLS.validate(
		"milvus-tls", strings.HasPrefix(c.Milvus.Address, "https://"), "--milvus-address as https://host:port", bad,
	)
	refuseParameters("clickhouse", clickhouse, bad)
	refuseParameters("redis", redis, bad)
	c.Milvus.validate(bad)
	c.Embedder.validate(bad)
}

// refuseParameters refuses what the drivers would take and the settings say better.
func refuseParameters(engine string, u *url.URL, bad func(setting, format string, args ...any)) {
	if u.Query().Has("skip_verify") {
		bad(engine+"-url", "skip_verify is not taken: name the server's CA, or its own certificate, in --%s-tls-ca", engine)
	}
	if u.Query().Has("tls_server_name") {
		bad(engine+"-url", "tls_server_name is not taken: use --%s-tls-server-name", engine)
	}
}

// parameters parses a URL; one that cannot be parsed is reported elsewhere.
func parameters(address Secret) *url.URL {
	u, err := url.Parse(address.Reveal())
	if err != nil {
		return &url.URL{}
	}
	return u
}

// speaksTLS reports what a URL of ClickHouse or Redis says.
func speaksTLS(u *url.URL) bool {
	switch u.Scheme {
	case "https", "rediss":
		return true
	case "clickhouse":
		secure, err := strconv.ParseBool(u.Query().Get("secure"))
		return u.Query().Has("secure") && (secure || err != nil) // alone it means yes
	}
	return false
}
