package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/clickhouseurl"
)

// ClickHouse holds the settings of ClickHouse, which stores points.
type ClickHouse struct {
	URL            Secret    `help:"URL of ClickHouse: clickhouse://user:password@host:9000/database (for TLS with ?secure=true), http://… or https://…. Several servers of a cluster: host:9000,host:9000. Empty: embedded." env:"LIVEGRAPH_CLICKHOUSE_URL"`
	Cluster        string    `help:"Name of the cluster of ClickHouse (in its remote_servers) on whose shards the tables are, see docs/scaling.md. Empty: one server." env:"LIVEGRAPH_CLICKHOUSE_CLUSTER"`
	EmbeddedShards int       `help:"Embedded ClickHouse only, for tests and trials: number of shards of an imitated cluster within the process, from 2 to 16. It cannot be changed later. 0: one server." default:"0" env:"LIVEGRAPH_EMBEDDED_CLICKHOUSE_SHARDS"`
	TLS            EngineTLS `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_CLICKHOUSE_TLS_"`
}

// clusterName matches names of clusters. They are elements of the configuration of ClickHouse.
var clusterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// maxEmbeddedShards is the maximum number of shards of the embedded ClickHouse.
const maxEmbeddedShards = 16

// validate checks the settings of ClickHouse.
func (c *ClickHouse) validate(invalid func(setting, format string, args ...any)) {
	if c.URL != "" {
		u, _, err := clickhouseurl.Parse(c.URL.Reveal())
		schemes := []string{"clickhouse", "http", "https"}
		switch {
		case err != nil:
			invalid("clickhouse-url", "%s", err)
		case u.Host == "" || !slices.Contains(schemes, u.Scheme):
			invalid("clickhouse-url", "is not a URL with scheme %s (its value is not shown)", strings.Join(schemes, ", "))
		}
	}
	if c.Cluster != "" && !clusterName.MatchString(c.Cluster) {
		invalid("clickhouse-cluster", "must be the name of a cluster: at most 64 letters, digits, _, . and -")
	}
	switch n := c.EmbeddedShards; {
	case n == 0:
	case n < 2 || n > maxEmbeddedShards:
		invalid("clickhouse-embedded-shards", "must be 0, or from 2 to %d", maxEmbeddedShards)
	case c.URL != "":
		invalid("clickhouse-embedded-shards", "is for the embedded ClickHouse only: remove --clickhouse-url")
	}
}
