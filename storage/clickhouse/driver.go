package clickhouse

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Driver returns the driver's options for a URL. files verify a server that is reached
// by TLS; nil: as the system does. HTTP goes uncompressed: it is how the embedded
// engine on the same machine is reached. The native protocol compresses by LZ4.
func Driver(address string, files *tlsconfig.Client) (*ch.Options, error) {
	u, err := url.Parse(address)
	if err != nil {
		// The parser's message can hold the URL, and with it the password.
		return nil, fault.New(fault.Invalid, "the ClickHouse URL cannot be read")
	}
	if u.Scheme == "https" { // the driver wants to be told twice
		query := u.Query()
		query.Set("secure", "true")
		u.RawQuery = query.Encode()
	}
	options, err := ch.ParseDSN(u.String())
	if err != nil {
		return nil, fault.New(fault.Invalid, "the ClickHouse URL cannot be read")
	}
	options.Protocol, options.Compression = ch.Native, &ch.Compression{Method: ch.CompressionLZ4}
	if strings.HasPrefix(u.Scheme, "http") {
		options.Protocol, options.Compression = ch.HTTP, &ch.Compression{Method: ch.CompressionNone}
	}
	if options.Settings == nil {
		options.Settings = ch.Settings{}
	}
	for name, value := range map[string]any{"max_execution_time": maxExecutionSec, "async_insert": 0} {
		if _, chosen := options.Settings[name]; !chosen {
			options.Settings[name] = value
		}
	}
	options.MaxOpenConns, options.MaxIdleConns, options.ConnMaxLifetime = maxConns, maxIdleConns, connLifetime
	options.DialTimeout, options.ReadTimeout = dialTimeout, readTimeout
	if options.TLS != nil {
		encrypt(options, files)
	}
	return options, nil
}

// encrypt makes each connection verify the server by the files as they are by then:
// the driver would take one configuration forever, so connections are made here. The
// one it has still counts through an HTTP proxy.
func encrypt(options *ch.Options, files *tlsconfig.Client) {
	if files == nil {
		files = tlsconfig.System()
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return files.Dial(ctx, address, dialTimeout)
	}
	options.TLS = files.Config("")
	if options.Protocol == ch.Native {
		options.DialContext = dial
		return
	}
	options.TransportFunc = func(transport *http.Transport) (http.RoundTripper, error) {
		transport.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			return dial(ctx, address)
		}
		return transport, nil
	}
}
