package config

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/clickhouseurl"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// TLS is the certificate of the listener. Without it, the listener uses plain HTTP.
type TLS struct {
	Cert string `help:"Certificate of the listener (PEM, followed by its chain). The files are reloaded when they change. Empty: plain HTTP." env:"LIVEGRAPH_TLS_CERT" placeholder:"FILE"`
	Key  string `help:"Private key of the certificate (PEM, without a passphrase)." env:"LIVEGRAPH_TLS_KEY" placeholder:"FILE"`
}

func (t TLS) validate(invalid func(setting, format string, args ...any)) {
	if (t.Cert == "") != (t.Key == "") {
		invalid("tls-cert", "goes together with --tls-key")
	}
}

// Encrypted reports whether the listener uses TLS.
func (t TLS) Encrypted() bool { return t.Cert != "" }

// CertPath returns the absolute path of the certificate, for a process in another directory.
func (t TLS) CertPath() string { return absolute(t.Cert) }

// Server reads the certificate of the listener. It returns nil without one.
func (t TLS) Server() (*tlsconfig.Server, error) {
	if !t.Encrypted() {
		return nil, nil
	}
	return tlsconfig.NewServer("tls", t.Cert, t.Key)
}

// EngineTLS holds the TLS settings of the connection to an engine: how to verify the
// engine, and the client certificate. The scheme of the engine's address enables TLS. The
// files are reloaded when they change.
type EngineTLS struct {
	CA         string `help:"CA certificates (PEM) to verify the engine's certificate. Default: the system's CA certificates." env:"CA" placeholder:"FILE" json:"ca,omitempty"`
	Cert       string `help:"Client certificate (PEM), if the engine requires one." env:"CERT" placeholder:"FILE" json:"cert,omitempty"`
	Key        string `help:"Private key of the client certificate (PEM, without a passphrase)." env:"KEY" placeholder:"FILE" json:"key,omitempty"`
	ServerName string `help:"Expected name in the engine's certificate. Default: the host of the engine's address." env:"SERVER_NAME" placeholder:"NAME" json:"serverName,omitempty"`
}

// Absolute returns a copy with absolute paths, for a process in another directory.
func (t EngineTLS) Absolute() EngineTLS {
	for _, path := range []*string{&t.CA, &t.Cert, &t.Key} {
		*path = absolute(*path)
	}
	return t
}

// absolute returns the absolute path, or "" for an empty path.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Client reads the files. setting is the prefix of the names of the settings, such as redis-tls.
func (t EngineTLS) Client(setting string) (*tlsconfig.Client, error) {
	return tlsconfig.NewClient(
		tlsconfig.Files{CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName, Setting: setting},
	)
}

// validate checks the TLS settings of an engine. encrypted reports whether the address of the
// engine uses TLS. tlsAddress describes the address setting with TLS, for the error.
func (t EngineTLS) validate(
	setting string, encrypted bool, tlsAddress string, invalid func(setting, format string, args ...any),
) {
	if (t.Cert == "") != (t.Key == "") {
		invalid(setting+"-cert", "goes together with --%s-key", setting)
	}
	if t != (EngineTLS{}) && !encrypted {
		invalid(setting+"-ca", "and the others of %s are for an address that speaks TLS: %s", setting, tlsAddress)
	}
}

// validateEngines checks the settings of the engines whose TLS settings are not part of the URL.
func (c *Config) validateEngines(invalid func(setting, format string, args ...any)) {
	clickhouse, _, err := clickhouseurl.Parse(c.ClickHouse.URL.Reveal())
	if err != nil { // which ClickHouse.validate reports
		clickhouse = &url.URL{}
	}
	redis := parameters(c.Redis.URL)
	c.ClickHouse.TLS.validate(
		"clickhouse-tls", speaksTLS(clickhouse), "--clickhouse-url as clickhouse://…?secure=true or https://…", invalid,
	)
	c.Redis.validate(invalid)
	c.Milvus.TLS.validate(
		"milvus-tls", strings.HasPrefix(c.Milvus.Address, "https://"), "--milvus-address as https://host:port", invalid,
	)
	rejectParameters("clickhouse", clickhouse, invalid)
	rejectParameters("redis", redis, invalid)
	c.Milvus.validate(invalid)
	c.Embedder.validate(invalid)
	c.Chat.validate(invalid)
	c.Rerank.validate(invalid)
}

// rejectParameters reports URL parameters that drivers accept and that settings replace.
func rejectParameters(engine string, u *url.URL, invalid func(setting, format string, args ...any)) {
	if u.Query().Has("skip_verify") {
		invalid(
			engine+"-url", "skip_verify is not taken: name the server's CA, or its own certificate, in --%s-tls-ca", engine,
		)
	}
	if u.Query().Has("tls_server_name") {
		invalid(engine+"-url", "tls_server_name is not taken: use --%s-tls-server-name", engine)
	}
}

// parameters parses a URL. It returns an empty one on errors, which others report.
func parameters(address Secret) *url.URL {
	u, err := url.Parse(address.Reveal())
	if err != nil {
		return &url.URL{}
	}
	return u
}

// speaksTLS reports whether a URL of ClickHouse enables TLS.
func speaksTLS(u *url.URL) bool {
	switch u.Scheme {
	case "https":
		return true
	case "clickhouse":
		secure, err := strconv.ParseBool(u.Query().Get("secure"))
		return u.Query().Has("secure") && (secure || err != nil) // without a value it is true
	}
	return false
}
