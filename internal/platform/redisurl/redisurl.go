// Package redisurl parses the URL of Redis or Valkey. It names one server, the Sentinels that monitor a
// primary and its replicas, or nodes of a Cluster:
//
//	redis://user:password@host:6379/0
//	redis-sentinel://user:password@host:26379,host:26379,host:26379/0?master=NAME
//	redis-cluster://user:password@host:6379,host:6379,host:6379
//
// The schemes rediss, rediss-sentinel and rediss-cluster use TLS. The user and the password are those of
// the servers, not those of the Sentinels.
package redisurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/hostlist"
)

// Mode is what a URL names.
type Mode int

// The modes.
const (
	Server   Mode = iota // one server
	Sentinel             // the Sentinels of a primary
	Cluster              // nodes of a Cluster
)

// masterParameter is the parameter with the name of the primary.
const masterParameter = "master"

// Default ports.
const (
	serverPort   = "6379"
	sentinelPort = "26379"
)

// Schemes returns the schemes of all modes, in their order.
func Schemes() []string {
	return []string{"redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster"}
}

// Schemes returns the schemes of a mode, without TLS and with TLS.
func (m Mode) Schemes() (plain, encrypted string) {
	all := Schemes()
	return all[2*m], all[2*m+1]
}

// modeOf returns the mode of one of the schemes.
func modeOf(scheme string) Mode {
	switch {
	case strings.HasSuffix(scheme, "-sentinel"):
		return Sentinel
	case strings.HasSuffix(scheme, "-cluster"):
		return Cluster
	}
	return Server
}

// URL is a parsed URL.
type URL struct {
	Mode     Mode
	TLS      bool
	Hosts    []string // host:port of each server, Sentinel or node
	User     string
	Password string
	Database int    // 0 in a Cluster
	Master   string // name of the primary; only with Sentinel
}

// Parse parses a URL. Its errors name what is allowed, and do not contain the URL, which may have a
// password. With an error it returns the mode and TLS if the scheme is known.
//
// Parameters of redis:// and rediss:// are not validated: the driver parses them.
func Parse(text string) (URL, error) {
	parts, found := hostlist.Cut(text)
	if !found || !slices.Contains(Schemes(), parts.Scheme) {
		return URL{}, fmt.Errorf("is not a URL with scheme %s (its value is not shown)", strings.Join(Schemes(), ", "))
	}
	u := URL{Mode: modeOf(parts.Scheme), TLS: strings.HasPrefix(parts.Scheme, "rediss")}
	parsed, err := url.Parse(parts.With("redis", "host"))
	if err != nil {
		return u, errors.New("cannot be parsed: special characters of user and password are percent-encoded " +
			"(its value is not shown)")
	}
	u.User = parsed.User.Username()
	u.Password, _ = parsed.User.Password()
	if err := u.setHosts(parts.Hosts); err != nil {
		return u, err
	}
	if err := u.setDatabase(parsed.Path); err != nil {
		return u, err
	}
	return u, u.setParameters(parsed)
}

// setHosts parses the hosts and adds default ports.
func (u *URL) setHosts(list []string) error {
	if u.Mode == Server && len(list) > 1 {
		return errors.New("names several servers: redis:// and rediss:// name one; for Sentinels or a Cluster use " +
			"redis-sentinel:// or redis-cluster://")
	}
	defaultPort := serverPort
	if u.Mode == Sentinel {
		defaultPort = sentinelPort
	}
	for _, host := range list {
		parsed, err := url.Parse("redis://" + host)
		if err != nil || parsed.Host != host || parsed.Hostname() == "" {
			return errors.New("must name its hosts as host:port, separated by commas")
		}
		port := parsed.Port()
		if port == "" {
			port = defaultPort
		}
		u.Hosts = append(u.Hosts, net.JoinHostPort(parsed.Hostname(), port))
	}
	return nil
}

// setDatabase parses the path, which is the number of the database.
func (u *URL) setDatabase(path string) error {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	number, err := strconv.Atoi(path)
	if err != nil || number < 0 {
		return errors.New("must have the number of a database as its path, such as /0")
	}
	if u.Database = number; u.Mode == Cluster && number != 0 {
		return errors.New("must have no path, or /0: a Cluster has one database")
	}
	return nil
}

// setParameters parses the parameters.
func (u *URL) setParameters(parsed *url.URL) error {
	if u.Mode == Server {
		return nil
	}
	parameters, err := url.ParseQuery(parsed.RawQuery)
	if err != nil || parsed.Fragment != "" {
		return errors.New("has parameters that cannot be parsed")
	}
	for name := range parameters {
		if u.Mode == Cluster {
			return errors.New("must have no parameters: redis-cluster:// has none")
		}
		if name != masterParameter {
			return errors.New("must have no parameter except master: redis-sentinel://…?master=NAME")
		}
	}
	if u.Master = parameters.Get(masterParameter); u.Mode == Sentinel && u.Master == "" {
		return errors.New("must have the name of the primary that the Sentinels monitor: " +
			"redis-sentinel://…?master=NAME")
	}
	return nil
}
