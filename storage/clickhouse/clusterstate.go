package clickhouse

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// VersionTable is the table of the executed migrations.
const VersionTable = "goose_db_version"

// numberOfShards matches the number of shards in the engine of a Distributed table.
var numberOfShards = regexp.MustCompile(`^Distributed\(.*jumpConsistentHash\(.*, (\d+)\)\)`)

// clusterSchema returns the schema of a cluster, nil for one server. It returns fault.Invalid if the
// cluster cannot be used, or if the database has the tables of the other layout: inserts into Distributed
// tables would return before the rows are stored, and rows of one server would be missing on a cluster.
func (db *DB) clusterSchema(ctx context.Context) (*clusterSchema, error) {
	schema := &clusterSchema{layout: db.layout}
	if db.layout.cluster != "" {
		if err := db.readCluster(ctx, schema); err != nil {
			return nil, err
		}
	}
	engines, err := db.enginesOf(ctx, TablePoints)
	if err != nil {
		return nil, err
	}
	existing := map[string]bool{} // numbers of shards
	for _, engine := range engines {
		m := numberOfShards.FindStringSubmatch(engine)
		switch {
		case m == nil && db.layout.cluster != "":
			return nil, fault.New(fault.Invalid, "the database of ClickHouse has the tables of one server, and "+
				"LIVEGRAPH_CLICKHOUSE_CLUSTER is set: docs/scaling.md describes how a cluster takes over its data")
		case m != nil && db.layout.cluster == "":
			return nil, fault.New(fault.Invalid, "the database of ClickHouse is on a cluster: set LIVEGRAPH_CLICKHOUSE_CLUSTER")
		case m != nil:
			existing[m[1]] = true
		}
	}
	switch {
	case db.layout.cluster == "":
		return nil, nil
	case len(existing) > 1:
		return nil, fault.New(fault.Invalid, "the tables of ClickHouse's servers name different numbers of shards: complete "+
			"the addition of a shard as docs/scaling.md describes")
	}
	// New tables are divided as the existing ones, also if shards were added to the cluster since.
	for number := range existing {
		schema.shards, err = strconv.Atoi(number)
	}
	return schema, err
}

// enginesOf returns the engines of a table on all servers, with their arguments. It is empty if the table
// does not exist.
func (db *DB) enginesOf(ctx context.Context, table string) (engines []string, err error) {
	statement := "SELECT DISTINCT engine_full FROM " + db.layout.systemOfAll("tables") + " WHERE database = " +
		db.layout.Database() + " AND name = " + quote(table)
	err = db.eachRow(ctx, statement, func(rows driver.Rows) error {
		var engine string
		err := rows.Scan(&engine)
		engines = append(engines, engine)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the engine of table %s: %w", table, classifyError(ctx, err))
	}
	return engines, nil
}

// readCluster reads how many shards the cluster has, and whether tables are replicated.
func (db *DB) readCluster(ctx context.Context, schema *clusterSchema) error {
	var shards, replicas, macros uint64
	err := db.conn.QueryRow(ctx, `SELECT toUInt64(max(shard_num)), toUInt64(max(replica_num)),
		(SELECT toUInt64(uniq(macro)) FROM system.macros WHERE macro IN ('shard', 'replica'))
		FROM system.clusters WHERE cluster = `+quote(db.layout.cluster)).Scan(&shards, &replicas, &macros)
	if err != nil {
		return fmt.Errorf("reading the cluster of ClickHouse: %w", classifyError(ctx, err))
	}
	schema.shards, schema.replicated = int(shards), macros == 2
	switch {
	case shards == 0:
		return fault.Newf(fault.Invalid, "ClickHouse has no cluster %q in remote_servers: correct "+
			"LIVEGRAPH_CLICKHOUSE_CLUSTER", db.layout.cluster)
	case replicas > 1 && !schema.replicated:
		return fault.Newf(fault.Invalid, "the shards of ClickHouse's cluster %q have replicas: each server must define the "+
			"macros shard and replica", db.layout.cluster)
	}
	return nil
}

// versionStore stores the versions of migrations in one shard, from where all servers read them.
type versionStore struct {
	database.Store
	schema *clusterSchema
}

func newVersionStore(schema *clusterSchema) (database.Store, error) {
	store, err := database.NewStore(goose.DialectClickHouse, VersionTable)
	if err != nil {
		return nil, fmt.Errorf("creating the store of migrations: %w", err)
	}
	return &versionStore{Store: store, schema: schema}, nil
}

// CreateVersionTable creates the table of the versions.
func (s *versionStore) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	const columns = ` (version_id Int64, is_applied UInt8, date Date DEFAULT now(), tstamp DateTime DEFAULT now())
`
	engine := s.schema.engine(VersionTable, "MergeTree", "") + " ORDER BY version_id"
	// The key is 0: the rows are in the first shard.
	for _, statement := range s.schema.create(VersionTable, columns, engine, "toUInt64(intDiv(is_applied, 2))") {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("creating table %s: %w", VersionTable, err)
		}
	}
	return nil
}

// Delete is not supported, because migrations are not undone.
func (s *versionStore) Delete(context.Context, database.DBTxConn, int64) error {
	return database.ErrNotImplemented
}
