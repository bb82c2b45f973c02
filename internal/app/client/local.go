package client

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Local makes a client of a server on this machine, nil for the usual one.
func Local(server runfile.Server) (*http.Client, error) {
	transport, err := LocalTransport(server)
	if transport == nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}

// LocalTransport makes the way to a server on this machine: it connects to the
// listener, whatever the host in the URL, and believes its certificate. It is nil, for
// the usual one, when the URL speaks another scheme than the listener: there is a proxy
// before it that is to be spoken to.
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
