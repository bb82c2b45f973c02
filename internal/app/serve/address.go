package serve

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// address describes how the API is reached.
type address struct {
	url   string            // shown to users
	local string            // host:port, from this machine
	files *tlsconfig.Server // nil: plain HTTP
	// trust is a file for curl's --cacert; empty: clients trust the certificate of url without it.
	trust string
}

// listen reads the listener's certificate and returns the address of the API: the
// configured public URL, else a URL whose host matches the certificate.
func listen(cfg *config.Config, addr net.Addr) (address, error) {
	files, err := cfg.TLS.Server()
	if err != nil {
		return address{}, err
	}
	l := address{url: cfg.API.PublicURL, local: loopback(addr), files: files}
	switch {
	case l.url != "":
	case files == nil:
		l.url = "http://" + l.local
	default:
		host, port, _ := net.SplitHostPort(l.local) // loopback returned it
		l.url = "https://" + net.JoinHostPort(nameFor(files, host), port)
	}
	if files != nil && strings.HasPrefix(l.url, "https://") && !files.Trusted() {
		l.trust = cfg.TLS.CertPath()
	}
	return l, nil
}

// nameFor returns a host that the certificate covers: host itself, localhost if host is a
// loopback address, or the first DNS name of the certificate. It returns host if none matches.
func nameFor(files *tlsconfig.Server, host string) string {
	candidates := []string{host}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		candidates = append(candidates, "localhost")
	}
	for _, name := range append(candidates, files.Leaf().DNSNames...) {
		if !strings.Contains(name, "*") && files.Covers(name) {
			return name
		}
	}
	return host
}

// tls returns the listener's TLS configuration, or nil for plain HTTP.
func (l address) tls() *tls.Config {
	if l.files == nil {
		return nil
	}
	return l.files.Config()
}

// warn logs a warning if keys are sent unencrypted, or if the addresses of clients cannot
// be distinguished.
func (l address) warn(cfg *config.Config, logger *slog.Logger) {
	if cfg.SharesAddresses() {
		logger.Warn(
			"no proxy is trusted: behind a proxy, all clients have its address, so that a few wrong passwords lock everybody "+
				"out of the admin UI, and the audit log has no client addresses: name the proxy's network with "+
				"--api-trusted-proxies, or, without a proxy, an unused address such as 192.0.2.1/32",
			"listen", cfg.Listen,
		)
	}
	if l.files != nil || !cfg.Has("api") || config.IsLoopback(cfg.Listen) {
		return
	}
	// With such a public URL, a proxy terminates TLS, or only this machine reaches the API.
	if u, err := url.Parse(cfg.API.PublicURL); err == nil && (u.Scheme == "https" || config.IsLoopback(u.Host)) {
		return
	}
	logger.Warn(
		"API keys and data are sent unencrypted to a port that other machines can reach: give the listener a certificate "+
			"(--tls-cert, --tls-key), or let it listen on 127.0.0.1 behind a proxy that terminates TLS and set the proxy's "+
			"address with --api-public-url",
		"listen", cfg.Listen,
	)
}

// loopback returns the address at which this machine reaches a listener.
func loopback(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
