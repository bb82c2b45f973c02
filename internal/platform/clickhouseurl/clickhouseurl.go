// Package clickhouseurl parses the URL of ClickHouse. It names one server, or several servers of a cluster:
//
//	clickhouse://user:password@host:9000/database
//	clickhouse://user:password@host:9000,host:9000/database
package clickhouseurl

import (
	"errors"
	"net/url"

	"github.com/livegraph/livegraph/internal/platform/hostlist"
)

// Parse parses a URL and returns it with its first host, and all hosts. Its errors do not contain the URL,
// which may have a password.
func Parse(text string) (u *url.URL, hosts []string, err error) {
	first := text
	if parts, ok := hostlist.Cut(text); ok {
		first, hosts = parts.With(parts.Scheme, parts.Hosts[0]), parts.Hosts
	}
	u, err = url.Parse(first)
	if err != nil {
		return nil, nil, errors.New("cannot be parsed (its value is not shown)")
	}
	for _, host := range hosts {
		parsed, err := url.Parse("//" + host)
		if err != nil || parsed.Host != host || len(hosts) > 1 && (parsed.Hostname() == "" || parsed.Port() == "") {
			return nil, nil, errors.New("must name its hosts as host:port, separated by commas (its value is not shown)")
		}
	}
	return u, hosts, nil
}
