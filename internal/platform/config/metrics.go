package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// metricsOff turns the listener of metrics off, where an empty text is awkward.
const metricsOff = "off"

// Metrics says where operators watch the process.
type Metrics struct {
	Listen string `help:"Address of /metrics and /debug/pprof/, host:port; a network in place of the host, such as 10.1.2.0/24:9464, is this machine's own address in it. They need no key: keep it to yourself. off: none." default:"127.0.0.1:9464" env:"LIVEGRAPH_METRICS_LISTEN"`
}

// Enabled reports whether there is to be a listener.
func (m Metrics) Enabled() bool { return m.Listen != "" && m.Listen != metricsOff }

// Address returns the address to listen on. Where a network is named in place of a host it is
// that of this machine's interface in it: a process in several networks serves one.
func (m Metrics) Address() (string, error) {
	host, port, err := net.SplitHostPort(m.Listen)
	if err != nil {
		return "", err
	}
	network, err := netip.ParsePrefix(host)
	if err != nil {
		return m.Listen, nil //nolint:nilerr // it is a host
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("looking up this machine's addresses: %w", err)
	}
	for _, address := range own {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil && network.Contains(prefix.Addr().Unmap()) {
			return net.JoinHostPort(prefix.Addr().Unmap().String(), port), nil
		}
	}
	return "", errors.New("this machine has no address in the network " + network.String())
}

// Exposed reports whether others than this machine can reach the listener.
func (m Metrics) Exposed() bool {
	host, _, err := net.SplitHostPort(m.Listen)
	if network, no := netip.ParsePrefix(host); no == nil {
		return !network.Addr().IsLoopback()
	}
	return err == nil && !IsLoopback(m.Listen)
}

func (m Metrics) validate(bad func(setting, format string, args ...any)) {
	if !m.Enabled() {
		return
	}
	if _, _, err := net.SplitHostPort(m.Listen); err != nil {
		bad("metrics-listen", "%q is neither host:port nor off", m.Listen)
	}
}
