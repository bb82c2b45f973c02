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

// directGraph is the baseline of commands: pgx writes the rows that the service
// wrote, into tables of the same definition in the same engine.
type directGraph struct {
	t        *target
	from, to *pgxpool.Pool // the server's database, and the one beside it
	columns  []string      // by table: those that are written, not computed
}

// span is the sequences of one transaction.
type span struct{ first, last int64 }

// graphTables are the tables of a change, with the condition for the sequences and
// what has a row of each.
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

// columnsOf lists the columns of a table that are written.
const columnsOf = `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`

// newDirectRows creates a database of the server's tables beside the server's own.
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

// pool connects to the server's Postgres, past the server.
func (t *target) pool(database string) *pgxpool.Pool {
	t.b.Helper()
	pool, err := pgxpool.New(t.b.Context(), t.PostgresSuperuser(database))
	require.NoError(t.b, err)
	t.b.Cleanup(pool.Close)
	return pool
}

// askPostgres asks the server's own Postgres for a number.
func (t *target) askPostgres(query string, args ...any) (n int64) {
	t.b.Helper()
	conn, err := pgx.Connect(t.b.Context(), t.PostgresSuperuser("livegraph"))
	require.NoError(t.b, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.NoError(t.b, conn.QueryRow(t.b.Context(), query, args...).Scan(&n))
	return n
}

// settlePostgres waits until what loading leaves behind is done, so that what is
// measured next has the machine to itself: changes to publish, vacuum, a checkpoint,
// and the pages that the operating system has yet to write. Until they are on the
// disk, every commit waits for it three times as long.
func (t *target) settlePostgres() {
	t.b.Helper()
	deadline := time.Now().Add(settleLimit)
	for quiet := 0; quiet < 3; {
		require.True(t.b, time.Now().Before(deadline), "Postgres does not come to rest")
		atWork := t.askPostgres(`SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker') +
			(SELECT count(*) FROM graph_heads h JOIN graph_published p USING (workspace_id)
				WHERE p.sequence < h.sequence)`)
		if atWork == 0 {
			quiet++
		} else {
			quiet = 0
		}
		time.Sleep(500 * time.Millisecond)
	}
	// What autovacuum would begin with a minute later, in the middle of a measurement.
	for _, statement := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		_, err := t.pool("livegraph").Exec(t.b.Context(), statement)
		require.NoError(t.b, err)
	}
	unix.Sync()
}

func (d *directGraph) count(table string) int64 {
	return d.t.askPostgres("SELECT count(*) FROM " + table)
}

// spans are the transactions in which the service wrote what is after a sequence.
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

// together is how many commands a transaction of the service had, in the mean.
func (d *directGraph) together(after int64) float64 {
	spans := d.spans(after)
	return float64(spans[len(spans)-1].last-after) / float64(len(spans))
}

// write writes what the service wrote after a sequence in its transactions, by
// COPY, and gives how many changes a second. The rows are read before the clock
// starts.
func (d *directGraph) write(after int64) float64 {
	d.t.b.Helper()
	ctx := d.t.b.Context()
	spans := d.spans(after)
	held := make([][][]byte, len(spans)) // by transaction and table
	for i, s := range spans {
		for j, table := range graphTables {
			held[i] = append(held[i], d.read(ctx, between("SELECT "+d.columns[j]+" FROM "+table.name+" WHERE "+table.where, s)))
		}
	}
	d.empty(ctx)
	conn, err := d.to.Acquire(ctx)
	require.NoError(d.t.b, err)
	defer conn.Release()
	began := time.Now()
	for _, rows := range held {
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

// aloneAtOnce is how many connections write at a time when each command's rows are
// their own transaction.
const aloneAtOnce = 16

// writeAlone is write with a transaction for each change, in one round trip each.
func (d *directGraph) writeAlone(after int64) float64 {
	d.t.b.Helper()
	ctx := d.t.b.Context()
	const most = 5000 // of them are enough to know
	last := min(d.count("journal"), after+most)
	held := make([][]string, last-after) // by change and table
	for _, table := range graphTables {
		found, err := d.from.Query(
			ctx, "SELECT to_jsonb(t)::text FROM "+table.name+" t WHERE "+table.where+" ORDER BY "+table.sequence, after+1, last,
		)
		require.NoError(d.t.b, err)
		rows, err := pgx.CollectRows(found, pgx.RowTo[string])
		require.NoError(d.t.b, err)
		require.Len(d.t.b, rows, len(held), table.name)
		for i, row := range rows {
			held[i] = append(held[i], row)
		}
	}
	d.empty(ctx)
	var work errgroup.Group
	work.SetLimit(aloneAtOnce)
	began := time.Now()
	for _, rows := range held {
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
	return float64(len(held)) / time.Since(began).Seconds()
}

// empty empties the tables of the baseline, so that every turn finds the same.
func (d *directGraph) empty(ctx context.Context) {
	d.t.b.Helper()
	for _, table := range graphTables {
		_, err := d.to.Exec(ctx, "TRUNCATE "+table.name)
		require.NoError(d.t.b, err)
	}
}

// between puts sequences into a query: COPY takes no parameters.
func between(rows string, s span) string {
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

// copyWorkspaces copies what the rows refer to.
func (d *directGraph) copyWorkspaces(ctx context.Context) {
	d.t.b.Helper()
	conn, err := d.to.Acquire(ctx)
	require.NoError(d.t.b, err)
	defer conn.Release()
	rows := bytes.NewReader(d.read(ctx, "SELECT * FROM workspaces"))
	_, err = conn.Conn().PgConn().CopyFrom(ctx, rows, "COPY workspaces FROM STDIN (FORMAT binary)")
	require.NoError(d.t.b, err)
}
