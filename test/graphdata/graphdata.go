// Package graphdata creates large graphs for tests and benchmarks by SQL, without
// commands: a million nodes and five million edges in minutes. The same size always
// results in the same graph.
package graphdata

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Size of the large graph of the benchmarks.
const (
	LargeNodes = 1_000_000
	LargeEdges = 5_000_000
)

// Hub is the name of the node that is the source of every fiftieth edge.
const Hub = "Valve c4ca42 hall 1"

// rowsPerStatement is the maximum number of rows that a statement inserts.
const rowsPerStatement = 200_000

// Fill creates a graph in an empty workspace, with totals and a sequence but
// without a journal. Nodes have a name, a type, and four properties: status (ok, warn
// or fail), line (0 to 99), serial (SN- and their number, from 1) and active. Edges
// have six types, and the properties weight (0 to 999) and kind (a, b or c). One
// fifth of both was updated after its creation.
//
// Fill drops the indexes of the tables and creates them again, which is much faster.
// Nothing else may use the tables meanwhile.
func Fill(ctx context.Context, conn *pgx.Conn, workspace uuid.UUID, nodes, edges int) error {
	f := &executor{ctx: ctx, conn: conn}
	f.exec(`SET statement_timeout = 0`)
	names := f.queryStrings(
		`SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND tablename IN ('nodes', 'edges')
			AND indexname NOT LIKE '%_pkey'`,
	)
	definitions := f.queryStrings(`SELECT indexdef FROM pg_indexes WHERE indexname = ANY($1)`, names)
	f.exec(`DROP INDEX ` + strings.Join(names, ", "))
	f.exec(createIDFunction)
	for from := 1; from <= nodes; from += rowsPerStatement {
		f.exec(insertNodes, workspace, from, min(from+rowsPerStatement-1, nodes))
	}
	for from := 1; from <= edges; from += rowsPerStatement {
		f.exec(insertEdges, workspace, from, min(from+rowsPerStatement-1, edges), nodes)
	}
	for _, definition := range definitions {
		f.exec(definition)
	}
	f.exec(
		`INSERT INTO graph_totals SELECT workspace_id, 1, entity_type, count(*) FROM nodes WHERE workspace_id = $1
			GROUP BY 1, 3`,
		workspace,
	)
	f.exec(
		`INSERT INTO graph_totals SELECT workspace_id, 2, relation_type, count(*) FROM edges WHERE workspace_id = $1
			GROUP BY 1, 3`,
		workspace,
	)
	f.exec(`INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, $2)`, workspace, edges)
	f.exec(`INSERT INTO graph_published (workspace_id, sequence) VALUES ($1, $2)`, workspace, edges)
	f.exec(`VACUUM ANALYZE nodes`)
	f.exec(`VACUUM ANALYZE edges`)
	return f.err
}

// executor runs statements until one fails.
type executor struct {
	ctx  context.Context //nolint:containedctx // the executor exists for one call
	conn *pgx.Conn
	err  error
}

func (f *executor) exec(statement string, args ...any) {
	if f.err != nil {
		return
	}
	if _, err := f.conn.Exec(f.ctx, statement, args...); err != nil {
		f.err = fmt.Errorf("%.60s: %w", statement, err)
	}
}

func (f *executor) queryStrings(query string, args ...any) []string {
	if f.err != nil {
		return nil
	}
	var list []string
	rows, err := f.conn.Query(f.ctx, query, args...)
	if err == nil {
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	f.err = err
	return list
}

const (
	// createIDFunction creates a function whose ids grow with time, like UUIDs of version 7.
	createIDFunction = `CREATE OR REPLACE FUNCTION pg_temp.made(prefix text, i bigint,
		each int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
		SELECT (lpad(to_hex(1760000000 + i / each), 8, '0') || '-' || substr(m, 1, 4) || '-7' || substr(m, 5,
		3) || '-8' || substr(m, 8, 3) || '-' || substr(m, 11, 12))::uuid
		FROM (SELECT md5(prefix || i) AS m) x $$`
	insertNodes = `INSERT INTO nodes (workspace_id, id, name, entity_type, description, properties, created_at, updated_at,
		version, changed_by, created_by)
		SELECT $1, pg_temp.made('n', i, 100),
			(ARRAY['Pump','Valve','Boiler','Motor','Sensor','Turbine','Conveyor','Compressor'])[1 + i % 8]
				|| ' ' || substr(md5(i::text), 1, 6) || ' hall ' || i % 250,
			(ARRAY['object','object','process','concept','actor'])[1 + i * 7 % 5],
			CASE WHEN i % 3 = 0 THEN 'Installed in hall ' || i % 250 || ', serviced by team ' || i % 40 END,
			jsonb_build_object('status', (ARRAY['ok','ok','ok','warn','fail'])[1 + i * 13 % 5], 'line', i % 100, 'serial',
			'SN-' || i, 'active', i % 2 = 0),
			at, at + CASE WHEN i % 5 = 0 THEN i % 7919 * interval '1 minute' ELSE interval '0' END, CASE WHEN i % 5 = 0
			THEN 2 + i % 7 ELSE 1 END, i, i
		FROM generate_series($2::bigint, $3::bigint) i,
		LATERAL (SELECT '2026-01-01T00:00:00Z'::timestamptz + i / 100 * interval '1 second' AS at) t`
	insertEdges = `INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, properties, created_at,
		updated_at, version, changed_by, created_by, newest)
		SELECT $1, pg_temp.made('e', i, 500), pg_temp.made('n', CASE WHEN i % 50 = 0 THEN 1
		ELSE 1 + i * 7919 % $4::bigint END, 100),
			pg_temp.made('n', 1 + (i * 104729 + i / $4::bigint) % $4::bigint, 100),
			(ARRAY['feeds','feeds','feeds','part_of','part_of','controls','controls','monitors','owns','near'])[1 + i * 3 % 10],
			jsonb_build_object('weight', i % 1000, 'kind', (ARRAY['a','b','c'])[1 + i % 3]),
			at, at + CASE WHEN i % 5 = 0 THEN i % 7919 * interval '1 minute' ELSE interval '0' END, CASE WHEN i % 5 = 0
			THEN 2 + i % 7 ELSE 1 END, i, i, i
		FROM generate_series($2::bigint, $3::bigint) i,
		LATERAL (SELECT '2026-01-01T00:00:00Z'::timestamptz + i / 500 * interval '1 second' AS at) t`
)
