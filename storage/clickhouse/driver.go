package clickhouse

import (
	"context"
	"net"
	"net/http"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/internal/platform/clickhouseurl"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Driver returns the options of the driver for a URL. files are used to verify the server
// over TLS; nil: the roots of the system. HTTP is not compressed, because it is used for the
// embedded engine on the same machine. The native protocol uses LZ4.
func Driver(address string, files *tlsconfig.Client) (*ch.Options, error) {
	u, hosts, err := clickhouseurl.Parse(address)
	if err != nil {
		// The message of the driver may contain the URL, and with it the password.
		return nil, fault.New(fault.Invalid, "the ClickHouse URL cannot be read")
	}
	if u.Scheme == "https" { // the driver also requires the parameter
		query := u.Query()
		query.Set("secure", "true")
		u.RawQuery = query.Encode()
	}
	options, err := ch.ParseDSN(u.String())
	if err != nil {
		return nil, fault.New(fault.Invalid, "the ClickHouse URL cannot be read")
	}
	if len(hosts) > 1 {
		options.Addr = hosts // in the order in which they are tried
	}
	options.Protocol, options.Compression = ch.Native, &ch.Compression{Method: ch.CompressionLZ4}
	if strings.HasPrefix(u.Scheme, "http") {
		options.Protocol, options.Compression = ch.HTTP, &ch.Compression{Method: ch.CompressionNone}
	}
	setDefaults(options, ch.Settings{"max_execution_time": maxExecutionSec, "async_insert": 0})
	options.MaxOpenConns, options.MaxIdleConns, options.ConnMaxLifetime = maxConns, maxIdleConns, connLifetime
	options.DialTimeout, options.ReadTimeout = dialTimeout, readTimeout
	if options.TLS != nil {
		setTLS(options, files)
	}
	return options, nil
}

// setDefaults adds settings of all statements, except those that the URL has set.
func setDefaults(options *ch.Options, defaults ch.Settings) {
	if options.Settings == nil {
		options.Settings = ch.Settings{}
	}
	for name, value := range defaults {
		if _, chosen := options.Settings[name]; !chosen {
			options.Settings[name] = value
		}
	}
}

// setTLS makes each connection verify the server with the files that are current when it is
// opened. The driver would use one configuration permanently, so this package dials. The
// configuration of the driver still applies to connections through an HTTP proxy.
func setTLS(options *ch.Options, files *tlsconfig.Client) {
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
