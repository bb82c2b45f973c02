package clickhouse

import (
	"fmt"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// localSuffix is the suffix of the tables in which the shards of a cluster store rows.
const localSuffix = "_local"

// Layout is where the tables of a database are: on one server, or on the shards of a cluster.
//
// On a cluster, rows of a table t are in table t_local of each shard, and t is a Distributed table over
// them. Statements that insert or read rows name t in both layouts. The methods of Layout are for other
// statements: those that change tables, delete rows, or read tables of system. All rows of a series are in
// one shard, in all tables, see shardKeys.
type Layout struct {
	cluster  string // empty: one server
	database string
}

// NewLayout returns the layout of a database on a cluster, or on one server if cluster is empty.
func NewLayout(cluster, database string) Layout { return Layout{cluster: cluster, database: database} }

// Layout returns the layout of the database.
func (db *DB) Layout() Layout { return db.layout }

// Stored returns the table that stores the rows of a table, for statements that change or delete rows or
// parts, such as ALTER TABLE and DELETE FROM. They are executed on all shards.
func (l Layout) Stored(table string) string {
	if l.cluster == "" {
		return table
	}
	return table + localSuffix + " ON CLUSTER " + quote(l.cluster)
}

// StoredName returns the name of the table that stores the rows of a table, as in system.parts.
func (l Layout) StoredName(table string) string {
	if l.cluster == "" {
		return table
	}
	return table + localSuffix
}

// TableOf returns the table whose rows a stored table has.
func (l Layout) TableOf(stored string) string {
	if l.cluster == "" {
		return stored
	}
	return strings.TrimSuffix(stored, localSuffix)
}

// System returns a table of system: of the server, or of one replica of each shard.
func (l Layout) System(table string) string {
	if l.cluster == "" {
		return "system." + table
	}
	return fmt.Sprintf("cluster(%s, system.%s)", quote(l.cluster), table)
}

// systemOfAll returns a table of system of all servers.
func (l Layout) systemOfAll(table string) string {
	if l.cluster == "" {
		return "system." + table
	}
	return fmt.Sprintf("clusterAllReplicas(%s, system.%s)", quote(l.cluster), table)
}

// Database returns the expression for the name of the database. The current database of other servers may
// be another one.
func (l Layout) Database() string {
	if l.cluster == "" {
		return "currentDatabase()"
	}
	return quote(l.database)
}

// PerServer returns an expression, preceded by a comma, that differs between the rows of servers. It is
// empty if there is one server.
func (l Layout) PerServer() string {
	if l.cluster == "" {
		return ""
	}
	return ", hostName()"
}

// ShardTable returns the name of a table in a statement of OnShards.
func (l Layout) ShardTable(table string) string {
	if l.cluster == "" {
		return table
	}
	return "`" + l.database + "`." + table + localSuffix
}

// OnShards returns a query that runs a query on each shard, which reads the rows of the shard only, and
// returns the rows of all shards. The query must name tables by ShardTable, must compute each row from rows
// of one series, and must have a name for each column.
func (l Layout) OnShards(query string) string {
	if l.cluster == "" {
		return query
	}
	return fmt.Sprintf("SELECT * FROM cluster(%s, view(%s))", quote(l.cluster), query)
}

// quote returns a literal of a string.
func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// settings returns the settings of all statements on a cluster. The parameters of the URL override them.
func (l Layout) settings() ch.Settings {
	if l.cluster == "" {
		return nil
	}
	return ch.Settings{
		// An insert is complete when the shards have stored the rows, on most replicas.
		"distributed_foreground_insert": 1,
		"insert_quorum":                 "auto",
		"insert_quorum_timeout":         (insertTimeout / 2).Milliseconds(),
		// All processes use the same replica while it responds, so that reads find what was written.
		"load_balancing":           "in_order",
		"prefer_localhost_replica": 0,
		// Rows of a series are in one shard: a subquery reads the tables of its shard.
		"distributed_product_mode":           "local",
		"parallel_distributed_insert_select": 0,
	}
}
