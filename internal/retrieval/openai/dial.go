package openai

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
	idleTimeout    = 90 * time.Second // below that of the embedded server, so that it does not close a connection in use
	maxConnections = 16
	maxHeader      = 64 << 10
)

// newTransport returns a transport that connects directly to the API. It ignores the proxies
// of the environment, because the address to which a proxy connects cannot be checked.
func newTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if !o.AllowPrivateAddresses {
		refusePrivateAddresses(dialer, o.Setting)
	}
	return &http.Transport{
		DialContext: dialer.DialContext,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, dialer, o.TLS, network, address)
		},
		MaxConnsPerHost: maxConnections, MaxIdleConnsPerHost: maxConnections, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // the limit of a response applies to the bytes received
	}
}

// refusePrivateAddresses makes a dialer check each address before it connects.
func refusePrivateAddresses(dialer *net.Dialer, setting string) {
	dialer.Control = func(_, address string, _ syscall.RawConn) error { return refusePrivate(address, setting) }
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

// privateAddress is the error of a host name that resolves to an address that is not public.
type privateAddress struct {
	ip      netip.Addr
	setting string // prefix of the setting that allows it
}

func (e *privateAddress) Error() string {
	return fmt.Sprintf("%s is not a public address; --%s-allow-private-addresses allows it", e.ip, e.setting)
}

// refusePrivate returns an error for an address that is not public. The dialer calls it after
// it has resolved the name.
func refusePrivate(address, setting string) error {
	addrPort, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dialling %q: %w", address, err)
	}
	if ip := addrPort.Addr().WithZone("").Unmap(); !isPublic(ip) {
		return &privateAddress{ip, setting}
	}
	return nil
}

// reserved has the networks that are not routed on the internet (IANA's special-purpose
// registries) and for which netip has no method, and those that embed an IPv4 address.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// isPublic reports whether an address is routed on the internet.
func isPublic(ip netip.Addr) bool {
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
