package config

import (
	"net"
	"net/url"
	"strings"
)

// Milvus holds the settings of Milvus, which has the embeddings.
type Milvus struct {
	Address string    `help:"Address of Milvus: host:port, or https://host:port for TLS, optionally followed by /database. Empty: embedded." env:"LIVEGRAPH_MILVUS_ADDRESS"`
	Token   Secret    `help:"Credentials for Milvus: user:password, or an API key. Empty: no authentication." env:"LIVEGRAPH_MILVUS_TOKEN"`
	TLS     EngineTLS `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_MILVUS_TLS_"`
}

// validate checks the address. It must not contain a password because it is displayed.
func (m Milvus) validate(invalid func(setting, format string, args ...any)) {
	if m.Address == "" {
		return
	}
	if strings.Contains(m.Address, "@") {
		invalid("milvus-address", "takes no user and password: they go into --milvus-token (its value is not shown)")
		return
	}
	text := m.Address
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == "" {
		if _, _, err = net.SplitHostPort(u.Host); err == nil {
			return
		}
	}
	invalid("milvus-address", "%q is not host:port or https://host:port, with /database behind it if need be", m.Address)
}
