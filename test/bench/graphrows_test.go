package bench

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// directGraph is the baseline of commands: pgx writes the rows that the service wrote to tables with
// the same definition in the same engine.
type directGraph struct {
	t        *target
	from, to *pgxpool.Pool // the server's database and the baseline's
	columns  []string      // by table, without generated columns
}

// span is the range of sequences in one transaction.
type span struct{ first, last int64 }

// graphTables are the tables that a change writes, with the condition for a range of sequences and the
// expression for a row's sequence.
var graphTables = []struct{ name, where, sequence string }{
	{"nodes", "created_by BETWEEN $1 AND $2", "created_by"},
	{"journal", "sequence BETWEEN $1 AND $2", "sequence"},
	{"journal_nodes", "sequence BETWEEN $1 AND $2", "sequence"},
	{"undo_entries", "sequence BETWEEN $1 AND $2", "sequence"},
	{
		"command_outcomes",
		"(workspace_id, command_id) IN (SELECT workspace_id, command_id FROM journal WHERE sequence BETWEEN $1 AND $2)",
		"(SELECT min(j.sequence) FROM journal j WHERE j.workspace_id = t.workspace_id AND j.command_id = t.command_id)",
	},
}

// columnsOf lists the columns of a table without generated ones.
const columnsOf = `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`

// newDirectRows creates a second database with the server's tables.
func (t *target) newDirectRows() *directGraph {
	t.b.Helper()
	ctx := t.b.Context()
	d := &directGraph{t: t, from: t.pool("livegraph")}
	_, err := d.from.Exec(ctx, "CREATE DATABASE direct")
	require.NoError(t.b, err)
	d.to = t.pool("direct")
	db, err := stores.Open(ctx, d.to.Config().ConnString(), 1)
	require.NoError(t.b, err)
	defer db.Close()
	require.NoError(t.b, db.Migrate(ctx))
	for _, table := range graphTables {
		var columns string
		require.NoError(t.b, d.from.QueryRow(ctx, columnsOf, table.name).Scan(&columns))
		d.columns = append(d.columns, columns)
	}
	d.copyWorkspaces(ctx)
	return d
}

// pool connects directly to the server's Postgres.
func (t *target) pool(database string) *pgxpool.Pool {
	t.b.Helper()
	pool, err := pgxpool.New(t.b.Context(), t.PostgresSuperuser(database))
	require.NoError(t.b, err)
	t.b.Cleanup(pool.Close)
	return pool
}

// askPostgres runs a query in the server's Postgres that returns a number.
func (t *target) askPostgres(query string, args ...any) (n int64) {
	t.b.Helper()
	conn, err := pgx.Connect(t.b.Context(), t.PostgresSuperuser("livegraph"))
	require.NoError(t.b, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.NoError(t.b, conn.QueryRow(t.b.Context(), query, args...).Scan(&n))
	return n
}

// settlePostgres waits until the background work after a load is done, so that the next measurement
// has the machine to itself: changes to publish, vacuum, a checkpoint, and dirty pages of the
// operating system. Until these are on disk, every commit takes three times as long.
func (t *target) settlePostgres() {
	t.b.Helper()
	deadline := time.Now().Add(settleLimit)
	for quiet := 0; quiet < 3; {
		require.True(t.b, time.Now().Before(deadline), "Postgres does not come to rest")
		active := t.askPostgres(`SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker') +
			(SELECT count(*) FROM graph_heads h JOIN graph_published p USING (workspace_id)
				WHERE p.sequence < h.sequence)`)
		if active == 0 {
			quiet++
		} else {
			quiet = 0
		}
		time.Sleep(500 * time.Millisecond)
	}
	// Otherwise autovacuum would start a minute later, during a measurement.
	for _, statement := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		_, err := t.pool("livegraph").Exec(t.b.Context(), statement)
		require.NoError(t.b, err)
	}
	unix.Sync()
}

func (d *directGraph) count(table string) int64 {
	return d.t.askPostgres("SELECT count(*) FROM " + table)
}

// spans returns the service's transactions after a sequence.
func (d *directGraph) spans(after int64) []span {
	d.t.b.Helper()
	rows, err := d.from.Query(d.t.b.Context(),
		"SELECT min(sequence), max(sequence) FROM journal WHERE sequence > $1 GROUP BY xmin ORDER BY 1", after)
	require.NoError(d.t.b, err)
	spans, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (s span, err error) {
		return s, r.Scan(&s.first, &s.last)
	})
	require.NoError(d.t.b, err)
	require.NotEmpty(d.t.b, spans)
	return spans
}

// commandsPerTransaction returns the mean number of commands in a transaction of the service.
func (d *directGraph) commandsPerTransaction(after int64) float64 {
	spans := d.spans(after)
	return float64(spans[len(spans)-1].last-after) / float64(len(spans))
}

// write writes the rows after a sequence by COPY, in the service's transactions, and returns the
// changes per second. The rows are read before the clock starts.
func (d *directGraph) write(after int64) float64 {
	d.t.b.Helper()
	ctx := d.t.b.Context()
	spans := d.spans(after)
	copies := make([][][]byte, len(spans)) // by transaction and table
	for i, s := range spans {
		for j, table := range graphTables {
			query := withSequences("SELECT "+d.columns[j]+" FROM "+table.name+" WHERE "+table.where, s)
			copies[i] = append(copies[i], d.read(ctx, query))
		}
	}
	d.truncate(ctx)
	conn, err := d.to.Acquire(ctx)
	require.NoError(d.t.b, err)
	defer conn.Release()
	began := time.Now()
	for _, rows := range copies {
		require.NoError(d.t.b, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for i, table := range graphTables {
				if _, err := tx.Conn().PgConn().CopyFrom(
					ctx, bytes.NewReader(rows[i]), "COPY "+table.name+" ("+d.columns[i]+") FROM STDIN (FORMAT binary)",
				); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return float64(spans[len(spans)-1].last-after) / time.Since(began).Seconds()
}

// singleWriters is the number of concurrent connections if each command is a transaction.
const singleWriters = 16

// writeEach is write with one transaction and one round trip per change.
func (d *directGraph) writeEach(after int64) float64 {
	d.t.b.Helper()
	ctx := d.t.b.Context()
	const limit = 5000 // a sample is sufficient
	last := min(d.count("journal"), after+limit)
	inserts := make([][]string, last-after) // by change and table
	for _, table := range graphTables {
		found, err := d.from.Query(
			ctx, "SELECT to_jsonb(t)::text FROM "+table.name+" t WHERE "+table.where+" ORDER BY "+table.sequence, after+1, last,
		)
		require.NoError(d.t.b, err)
		rows, err := pgx.CollectRows(found, pgx.RowTo[string])
		require.NoError(d.t.b, err)
		require.Len(d.t.b, rows, len(inserts), table.name)
		for i, row := range rows {
			inserts[i] = append(inserts[i], row)
		}
	}
	d.truncate(ctx)
	var work errgroup.Group
	work.SetLimit(singleWriters)
	began := time.Now()
	for _, rows := range inserts {
		work.Go(func() error {
			var batch pgx.Batch // one transaction
			for i, table := range graphTables {
				batch.Queue(
					"INSERT INTO "+table.name+" ("+d.columns[i]+") SELECT "+d.columns[i]+
						" FROM jsonb_populate_record(NULL::"+table.name+", $1)",
					rows[i],
				)
			}
			return d.to.SendBatch(ctx, &batch).Close()
		})
	}
	require.NoError(d.t.b, work.Wait())
	return float64(len(inserts)) / time.Since(began).Seconds()
}

// truncate empties the baseline's tables, so that every turn starts with the same state.
func (d *directGraph) truncate(ctx context.Context) {
	d.t.b.Helper()
	for _, table := range graphTables {
		_, err := d.to.Exec(ctx, "TRUNCATE "+table.name)
		require.NoError(d.t.b, err)
	}
}

// withSequences inserts sequences into a query: COPY does not accept parameters.
func withSequences(rows string, s span) string {
	return strings.NewReplacer("$1", strconv.FormatInt(s.first, 10), "$2", strconv.FormatInt(s.last, 10)).Replace(rows)
}

// read returns the rows of a query on the server's database in the binary format of COPY.
func (d *directGraph) read(ctx context.Context, query string) []byte {
	d.t.b.Helper()
	conn, err := d.from.Acquire(ctx)
	require.NoError(d.t.b, err)
	defer conn.Release()
	var out bytes.Buffer
	_, err = conn.Conn().PgConn().CopyTo(ctx, &out, "COPY ("+query+") TO STDOUT (FORMAT binary)")
	require.NoError(d.t.b, err)
	return out.Bytes()
}

// copyWorkspaces copies the workspaces, which the rows reference.
func (d *directGraph) copyWorkspaces(ctx context.Context) {
	d.t.b.Helper()
	conn, err := d.to.Acquire(ctx)
	require.NoError(d.t.b, err)
	defer conn.Release()
	rows := bytes.NewReader(d.read(ctx, "SELECT * FROM workspaces"))
	_, err = conn.Conn().PgConn().CopyFrom(ctx, rows, "COPY workspaces FROM STDIN (FORMAT binary)")
	require.NoError(d.t.b, err)
}
