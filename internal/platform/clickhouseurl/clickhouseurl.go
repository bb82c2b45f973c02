// Package clickhouseurl parses the URL of ClickHouse. It names one server, or several servers of a cluster:
//
//	clickhouse://user:password@host:9000/database
//	clickhouse://user:password@host:9000,host:9000/database
package clickhouseurl

import (
	"errors"
	"net/url"
	"strings"
)

// Parse parses a URL and returns it with its first host, and all hosts. Its errors do not contain the URL,
// which may have a password.
func Parse(text string) (u *url.URL, hosts []string, err error) {
	first, hosts := text, []string(nil)
	if scheme, rest, found := strings.Cut(text, "://"); found {
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		authority, tail := rest[:end], rest[end:]
		login := authority[:strings.LastIndexByte(authority, '@')+1]
		hosts = strings.Split(authority[len(login):], ",")
		// net/url does not accept several hosts with ports.
		first = scheme + "://" + login + hosts[0] + tail
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
