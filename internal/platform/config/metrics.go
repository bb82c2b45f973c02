package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// metricsOff disables the metrics listener, for cases in which an empty string is inconvenient.
const metricsOff = "off"

// Metrics holds the settings of the metrics listener.
type Metrics struct {
	Listen string `help:"Address of /metrics and /debug/pprof/, host:port. A network as the host, such as 10.1.2.0/24:9464, selects this machine's address in that network. The endpoints require no key: do not expose them publicly. off: disabled." default:"127.0.0.1:9464" env:"LIVEGRAPH_METRICS_LISTEN"`
}

// Enabled reports whether the listener is enabled.
func (m Metrics) Enabled() bool { return m.Listen != "" && m.Listen != metricsOff }

// Address returns the address to listen on. If the setting has a network instead of a host, it is
// the address of this machine in that network, so that a process in several networks listens in
// only one.
func (m Metrics) Address() (string, error) {
	host, port, err := net.SplitHostPort(m.Listen)
	if err != nil {
		return "", err
	}
	network, err := netip.ParsePrefix(host)
	if err != nil {
		return m.Listen, nil //nolint:nilerr // it is a host
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("looking up this machine's addresses: %w", err)
	}
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil && network.Contains(prefix.Addr().Unmap()) {
			return net.JoinHostPort(prefix.Addr().Unmap().String(), port), nil
		}
	}
	return "", errors.New("this machine has no address in the network " + network.String())
}

// Exposed reports whether other machines can reach the listener.
func (m Metrics) Exposed() bool {
	host, _, err := net.SplitHostPort(m.Listen)
	if network, prefixErr := netip.ParsePrefix(host); prefixErr == nil {
		return !network.Addr().IsLoopback()
	}
	return err == nil && !IsLoopback(m.Listen)
}

func (m Metrics) validate(invalid func(setting, format string, args ...any)) {
	if !m.Enabled() {
		return
	}
	if _, _, err := net.SplitHostPort(m.Listen); err != nil {
		invalid("metrics-listen", "%q is neither host:port nor off", m.Listen)
	}
}
