package config

import (
	"net"
	"net/url"
	"strings"
)

// IsLoopback reports whether an address, a host with or without a port, is localhost or a loopback
// address.
func IsLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// SharesAddresses reports whether all clients may appear to have the same address: the listener
// can be behind a proxy, and no proxy is trusted.
func (c *Config) SharesAddresses() bool {
	if !c.Has("api") || len(c.API.TrustedProxies) > 0 {
		return false
	}
	if !IsLoopback(c.Listen) {
		return true
	}
	u, err := url.Parse(c.API.PublicURL)
	return err == nil && u.Host != "" && !IsLoopback(u.Host)
}
