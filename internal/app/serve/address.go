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

// address is how the API is reached.
type address struct {
	url   string            // to tell users
	local string            // host:port, from this machine
	files *tlsconfig.Server // nil: plain HTTP
	// trust is a file for curl's --cacert; empty: who reaches url trusts it anyway.
	trust string
}

// listen reads the listener's certificate and finds the address under which the
// certificate and anyone who set the process up want it to be reached.
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
		host, port, _ := net.SplitHostPort(l.local) // loopback made it
		l.url = "https://" + net.JoinHostPort(nameFor(files, host), port)
	}
	if files != nil && strings.HasPrefix(l.url, "https://") && !files.Trusted() {
		l.trust = cfg.TLS.CertPath()
	}
	return l, nil
}

// nameFor chooses a host that the certificate is for: the one at hand, or the first
// that it names.
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

// tls is the listener's configuration; nil: plain HTTP.
func (l address) tls() *tls.Config {
	if l.files == nil {
		return nil
	}
	return l.files.Config()
}

// warn reports what keys are exposed to, and whether callers can be told apart.
func (l address) warn(cfg *config.Config, logger *slog.Logger) {
	if cfg.SharesAddresses() {
		logger.Warn(
			"no proxy is trusted: behind one, all callers have its address, so that a few wrong passwords of anybody keep "+
				"everybody out of the administration page, and the audit log names nobody's address: name the proxy's "+
				"network with --api-trusted-proxies, or, without a proxy, an address that sends nothing, such as 192.0.2.1/32",
			"listen", cfg.Listen,
		)
	}
	if l.files != nil || !cfg.Has("api") || config.IsLoopback(cfg.Listen) {
		return
	}
	// Anyone who sets the address sees to it that TLS ends before it, or that it is this
	// machine's own.
	if u, err := url.Parse(cfg.API.PublicURL); err == nil && (u.Scheme == "https" || config.IsLoopback(u.Host)) {
		return
	}
	logger.Warn(
		"API keys and data travel in the clear to a port that other machines can reach: give the listener a certificate "+
			"(--tls-cert, --tls-key), or let it listen on 127.0.0.1 behind a proxy that ends TLS and say its address with "+
			"--api-public-url",
		"listen", cfg.Listen,
	)
}

// loopback is the address at which this machine reaches a listener.
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
