// Package hostlist takes apart URLs that name several hosts, such as scheme://user:password@host:1,host:2/path, which
// net/url does not accept.
package hostlist

import "strings"

// URL is a URL in parts. The text is Scheme + "://" + Login + the hosts, separated by commas, + Tail.
type URL struct {
	Scheme string
	Login  string // ends with @, unless it is empty
	Hosts  []string
	Tail   string // from the path on
}

// Cut takes a URL apart. It returns false if the text has no scheme. It validates nothing.
func Cut(text string) (u URL, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return URL{}, false
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	host := strings.LastIndexByte(authority, '@') + 1
	return URL{
		Scheme: scheme, Login: authority[:host], Hosts: strings.Split(authority[host:], ","), Tail: rest[end:],
	}, true
}

// With returns the text of the URL with another scheme and one host.
func (u *URL) With(scheme, host string) string { return scheme + "://" + u.Login + host + u.Tail }
