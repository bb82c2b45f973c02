package client

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Local returns an HTTP client with the transport of [LocalTransport], or nil if the
// default client is to be used.
func Local(server runfile.Server) (*http.Client, error) {
	transport, err := LocalTransport(server)
	if transport == nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}

// LocalTransport returns a transport to a server on this machine. It connects to the
// listener, whatever the host in the URL, and trusts its certificate. It returns nil, for
// the default transport, if the scheme of the URL differs from the listener's, because
// requests must then go through the proxy in front of it.
func LocalTransport(server runfile.Server) (*http.Transport, error) {
	encrypted := server.Certificate != ""
	if server.Listen == "" || encrypted != strings.HasPrefix(server.URL, "https://") {
		return nil, nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listen)
	}
	if encrypted {
		var err error
		if transport.TLSClientConfig, err = tlsconfig.Local("tls", server.Certificate); err != nil {
			return nil, err
		}
	}
	return transport, nil
}
