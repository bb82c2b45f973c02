// Package outbound sends requests to addresses that tenants choose, such as those of webhooks. A request never goes to
// a private address: of this host, of the networks behind it, or of the metadata service of a cloud.
//
// The address is checked when the connection is opened, after the name was resolved, so a name that changes its
// address is refused, too. Redirects are not followed, and the proxy of the environment is not used, because it would
// open connections that nobody checks.
package outbound

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

const (
	dialTimeout   = 5 * time.Second
	headerTimeout = 10 * time.Second
	idleTimeout   = 30 * time.Second
	maxHeader     = 64 << 10 // bytes
	maxIdle       = 100      // connections
)

// Guard decides to which addresses requests may be sent. It is safe for concurrent use.
type Guard struct {
	// Client sends requests. It follows no redirects. The caller sets a timeout by the context.
	Client   *http.Client
	guardian *ssrf.Guardian
}

// New creates a Guard. Addresses of the allowed networks are allowed although they are private.
func New(allowed []netip.Prefix) *Guard {
	var v4, v6 []netip.Prefix
	for _, network := range allowed {
		if network.Addr().Is4() {
			v4 = append(v4, network)
		} else {
			v6 = append(v6, network)
		}
	}
	guardian := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...),
		ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("224.0.0.0/4"))) // multicast
	dialer := &net.Dialer{Timeout: dialTimeout, Control: guardian.Safe}
	return &Guard{guardian: guardian, Client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: headerTimeout,
			IdleConnTimeout: idleTimeout, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: 2, MaxConnsPerHost: 16,
			MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
		},
	}}
}

// Refused reports whether an error of the client says that the address is not allowed.
func Refused(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork)
}

// Reason returns why a request failed. The text contains nothing of the address, and nothing of the network of the
// service, such as the address of its name server.
func Reason(err error) string {
	var (
		name        *net.DNSError
		number      syscall.Errno
		certificate *tls.CertificateVerificationError
		timeout     interface{ Timeout() bool }
	)
	switch {
	case Refused(err):
		return "requests to private addresses are not allowed"
	case errors.As(err, &name):
		return "the name of the host cannot be resolved"
	case errors.As(err, &certificate):
		return "the certificate of the receiver is not valid"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the receiver refuses connections"
	case errors.As(err, &number):
		return number.Error()
	}
	return "the connection failed"
}

// CheckURL returns why no request may be sent to a URL, nil if one may. The text of the error is for the client. Names
// are not resolved: their addresses are checked when a connection is opened.
func (g *Guard) CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("must be a URL that begins with https:// or http://")
	case u.User != nil:
		return errors.New("must not contain a user or a password")
	case u.Fragment != "":
		return errors.New("must not contain a fragment")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		if g.guardian.SafeAddr(ip.Unmap()) != nil {
			return fmt.Errorf("must not be the private address %s", ip)
		}
		return nil
	}
	if (host == "localhost" || strings.HasSuffix(host, ".localhost")) &&
		g.guardian.SafeAddr(netip.MustParseAddr("127.0.0.1")) != nil && g.guardian.SafeAddr(netip.IPv6Loopback()) != nil {
		return errors.New("must not be an address of the server itself")
	}
	return nil
}
