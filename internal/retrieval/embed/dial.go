package embed

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Bounds of the connections.
const (
	dialTimeout    = 5 * time.Second
	idleTimeout    = 90 * time.Second // below our server's, which would else close under a request
	maxConnections = 16
	maxHeader      = 64 << 10
)

// transport makes connections to the API alone: no proxy of the environment, behind
// which nobody could tell where a connection leads.
func transport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if !o.AllowPrivateAddresses {
		guard(dialer)
	}
	return &http.Transport{
		DialContext: dialer.DialContext,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, dialer, o.TLS, network, address)
		},
		MaxConnsPerHost: maxConnections, MaxIdleConnsPerHost: maxConnections, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // an answer's size is bounded as it comes
	}
}

// guard makes a dialer look at each address that it is about to connect to.
func guard(dialer *net.Dialer) {
	dialer.Control = func(_, address string, _ syscall.RawConn) error { return refusePrivate(address) }
}

func dialTLS(
	ctx context.Context, dialer *net.Dialer, files *tlsconfig.Client, network, address string,
) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	plain, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(plain, files.Config(address, "http/1.1"))
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, err
	}
	return conn, nil
}

// privateAddress says that a name led where it must not.
type privateAddress struct{ ip netip.Addr }

func (e *privateAddress) Error() string {
	return fmt.Sprintf("%s is not a public address; --embedder-allow-private-addresses allows it", e.ip)
}

// refusePrivate looks at the address that is about to be dialled, after every name has
// been resolved.
func refusePrivate(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dialling %q: %w", address, err)
	}
	if ip := at.Addr().WithZone("").Unmap(); !public(ip) {
		return &privateAddress{ip}
	}
	return nil
}

// reserved are networks that netip has no name for and the internet does not route
// (IANA's special-purpose registries), and those that carry an IPv4 address within.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// public reports whether an address is one of the internet's.
func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() { // unicast: not loopback, link-local, multicast, unspecified
		return false
	}
	for _, network := range reserved {
		if network.Contains(ip) {
			return false
		}
	}
	return true
}
