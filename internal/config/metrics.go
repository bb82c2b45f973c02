package config

import "net"

// metricsOff turns the listener of metrics off, where an empty text is awkward.
const metricsOff = "off"

// Metrics says where operators watch the process.
type Metrics struct {
	Listen string `help:"Address of /metrics and /debug/pprof/, host:port. They need no key: keep it to yourself. off: none." default:"127.0.0.1:9464" env:"LIVEGRAPH_METRICS_LISTEN"`
}

// Enabled reports whether there is to be a listener.
func (m Metrics) Enabled() bool { return m.Listen != "" && m.Listen != metricsOff }

// Exposed reports whether others than this machine can reach the listener.
func (m Metrics) Exposed() bool {
	host, _, err := net.SplitHostPort(m.Listen)
	if err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

func (m Metrics) validate(bad func(setting, format string, args ...any)) {
	if !m.Enabled() {
		return
	}
	if _, _, err := net.SplitHostPort(m.Listen); err != nil {
		bad("metrics-listen", "%q is neither host:port nor off", m.Listen)
	}
}
