package redisurl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/redisurl"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]redisurl.URL{
		"redis://h":                          {Hosts: []string{"h:6379"}},
		"rediss://:p@h:7000/3?pool_size=5":   {TLS: true, Hosts: []string{"h:7000"}, Password: "p", Database: 3},
		"redis://[::1]/":                     {Hosts: []string{"[::1]:6379"}},
		"redis-cluster://h1:7000,h2,[::1]:3": {Mode: redisurl.Cluster, Hosts: []string{"h1:7000", "h2:6379", "[::1]:3"}},
		"rediss-cluster://u:p%40%2F@h/0": {
			Mode: redisurl.Cluster, TLS: true, Hosts: []string{"h:6379"}, User: "u", Password: "p@/",
		},
		"redis-sentinel://u:p@s1:1,s2,s3:3/2?master=m%26m": {
			Mode: redisurl.Sentinel, Hosts: []string{"s1:1", "s2:26379", "s3:3"}, User: "u", Password: "p", Database: 2,
			Master: "m&m",
		},
		"rediss-sentinel://s?master=m": {Mode: redisurl.Sentinel, TLS: true, Hosts: []string{"s:26379"}, Master: "m"},
	} {
		got, err := redisurl.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestInvalidURLsAreExplainedAndNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"h:6379":                                    "scheme redis, rediss, redis-sentinel,",
		"http://u:s3cret@h":                         "scheme redis, rediss, redis-sentinel,",
		"redis://u:s3cret@%zz":                      "host:port",
		"redis://u:s3cret%zz@h":                     "percent-encoded",
		"redis://:s3cret@":                          "host:port",
		"redis://:s3cret@h1,h2":                     "redis-sentinel:// or redis-cluster://",
		"redis://:s3cret@h/one":                     "number of a database",
		"redis-cluster://:s3cret@h1:1,:2":           "host:port",
		"redis-cluster://:s3cret@h1:1,h2:x":         "host:port",
		"redis-cluster://:s3cret@h1:1,":             "host:port",
		"redis-cluster://:s3cret@h/1":               "a Cluster has one database",
		"redis-cluster://:s3cret@h?master=m":        "no parameters",
		"redis-sentinel://:s3cret@h":                "?master=NAME",
		"redis-sentinel://:s3cret@h?master=":        "?master=NAME",
		"redis-sentinel://:s3cret@h?master=m&tls=1": "no parameter except master",
		"redis-sentinel://:s3cret@h?master=%zz":     "cannot be parsed",
		"redis-sentinel://:s3cret@h?master=m#n":     "cannot be parsed",
	} {
		_, err := redisurl.Parse(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"redis://:p@h:1/0", "rediss-sentinel://a,b:1/0?master=m", "redis-cluster://[::1],b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := redisurl.Parse(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, u.Hosts)
		require.Equal(t, u.Mode == redisurl.Sentinel, u.Master != "")
	})
}
