package graphstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/journal"
)

// A cascade is one statement. It changes the edges, updates the totals and, if the edges are
// more than the journal lists, stores their ids. A cascade of very many edges is several
// statements of the same transaction: the first stores the ids, the following ones change
// one chunk of edges each.
const (
	countCascade = `INSERT INTO graph_totals AS t (workspace_id, kind, label, standing)
		SELECT $1, 2, c.relation_type, %s FROM changed c GROUP BY c.relation_type
		ON CONFLICT (workspace_id, kind, label) DO UPDATE SET standing = t.standing + excluded.standing`
	// listEdges stores the ids of edges in rows of a fixed number of ids.
	listEdges = `INSERT INTO cascade_edges (workspace_id, sequence, node_id, place, edge_ids)
		SELECT $1, $4, $2, min(n), array_agg(id ORDER BY id)
		FROM (SELECT e.id, row_number() OVER (ORDER BY e.id) - 1 AS n FROM %s) c WHERE %s GROUP BY n / %d`
	touchEdges = `version = e.version + CASE WHEN e.changed_by = $4 THEN 0 ELSE 1 END, changed_by = $4,
		updated_at = GREATEST($5, e.created_at)`
	cascadeDeleteSet  = `deleted = true, deleted_by = $3, taken_sequence = $3, taken_node = $2, ` + touchEdges
	cascadeRestoreSet = `deleted = false, deleted_by = 0, ` + touchEdges

	updateCascadeChunk = `WITH changed AS (
		UPDATE edges e SET %s WHERE e.workspace_id = $1 AND e.id = ANY((
			SELECT edge_ids[$7 + 1 : $7 + $8] FROM cascade_edges
			WHERE workspace_id = $1 AND sequence = $4 AND node_id = $2 AND place = $6)::uuid[])` + unusedParameters + `
		RETURNING e.relation_type)
		SELECT relation_type, count(*), pg_snapshot_xmax(pg_current_snapshot())::text::bigint
		FROM changed GROUP BY relation_type`
	// unusedParameters references parameters that a statement may not use, because all
	// statements are run with the same arguments.
	unusedParameters = ` AND ($2::uuid, $3::bigint) IS NOT NULL`
)

// One statement of a large cascade changes a chunk of edges. Concurrent commits wait until the
// WAL records of the chunk are on disk, so chunks are small while other transactions write.
const (
	busyChunkSize = 100
	idleChunkSize = 1000 // divides journal.CascadeRow
	// cascadeBusyTime is the time after the start of a transaction of others during which
	// further ones are expected.
	cascadeBusyTime = 300 * time.Millisecond
)

// cascadePace decides how fast a cascade proceeds. Each transaction that writes takes the next
// transaction id, so the next id shows whether others, in any process, have begun to write.
type cascadePace struct {
	next      int64 // the next transaction id, as of the last chunk; 0: unknown
	busyUntil time.Time
}

// observe records the next transaction id as of a chunk.
func (p *cascadePace) observe(next int64, now time.Time) {
	if p.next != 0 && next > p.next {
		p.busyUntil = now.Add(cascadeBusyTime)
	}
	p.next = max(p.next, next)
}

func (p *cascadePace) busy(now time.Time) bool { return now.Before(p.busyUntil) }

func (p *cascadePace) chunkSize(now time.Time) int {
	if p.next == 0 || p.busy(now) {
		return busyChunkSize
	}
	return idleChunkSize
}

// cascadeStatements are the statements that delete edges, or those that restore them.
type cascadeStatements struct {
	single            string // changes all edges
	list, updateChunk string // see cascadeInChunks
	sign              int64  // of the change of the totals
}

func newCascadeStatements(set string, condition edgeStatement, sign int64) cascadeStatements {
	matching := `edges e WHERE e.workspace_id = $1 AND ` + string(condition)
	exceedsListed := fmt.Sprintf(`(SELECT count(*) FROM changed) > %d`, graph.MaxListed)
	return cascadeStatements{
		single: `WITH changed AS (UPDATE edges e SET ` + set + ` WHERE e.workspace_id = $1 AND ` + string(condition) + `
			RETURNING e.relation_type, e.id), listed AS (` + fmt.Sprintf(
			listEdges, `changed e`, exceedsListed, journal.CascadeRow,
		) + `) ` +
			fmt.Sprintf(countCascade, fmt.Sprintf("%d * count(*)", sign)),
		list:        fmt.Sprintf(listEdges, matching+unusedParameters, `true`, journal.CascadeRow),
		updateChunk: fmt.Sprintf(updateCascadeChunk, set),
		sign:        sign,
	}
}

var (
	cascadeDelete  = newCascadeStatements(cascadeDeleteSet, isAtNode, -1)
	cascadeRestore = newCascadeStatements(cascadeRestoreSet, isTaken, 1)
)

// cascadeInDatabase deletes or restores the edges of a node in the database, and applies the
// same change to those in memory.
func (s *State) cascadeInDatabase(c *graph.Cascade, sequence graph.Sequence, at time.Time) error {
	if err := s.ensureSavepoint(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	statements := &cascadeDelete
	if c.Restored {
		statements = &cascadeRestore
	}
	args := []any{s.workspace, c.Mark.Node, int64(c.Mark.Sequence), int64(sequence), micros(at)}
	var err error
	// Without a limit the transaction is that of this command alone, and no other command waits for it.
	if s.tx.maxCascadeEdges == 0 && c.Count > journal.CascadeRow {
		err = s.cascadeInChunks(statements, args)
	} else {
		_, err = s.tx.conn.Exec(s.tx.ctx, statements.single, args...)
	}
	if err != nil {
		return fmt.Errorf("changing the edges of a node: %w", err)
	}
	s.cascade(c, sequence, at, func(_ edgeRow, e *graph.Edge) edgeRow { return edgeRow{stored: e, now: e} })
	if c.Restored {
		s.forgetLoadedEdges()
	}
	return nil
}

// cascadeInChunks changes the edges in chunks. While others write, it sleeps after each chunk for
// as long as the chunk took, because they share the disk and the processors with it.
func (s *State) cascadeInChunks(statements *cascadeStatements, args []any) error {
	listed, err := s.tx.conn.Exec(s.tx.ctx, statements.list, args[:4]...)
	if err != nil {
		return err
	}
	totals := map[total]int64{}
	pace := &cascadePace{}
	for row := range listed.RowsAffected() {
		for from := 0; from < journal.CascadeRow; {
			start := time.Now()
			size := pace.chunkSize(start)
			changed, err := s.updateChunk(
				statements, append(slices.Clip(args), row*journal.CascadeRow, from, size), totals, pace,
			)
			if err != nil {
				return err
			}
			if changed == 0 {
				break
			}
			from += size
			if end := time.Now(); pace.busy(end) && !sleep.For(s.tx.ctx, end.Sub(start)) {
				return s.tx.ctx.Err()
			}
		}
	}
	b := &pgx.Batch{}
	queueTotals(b, totals)
	return s.tx.conn.send(s.tx.ctx, b)
}

// updateChunk changes one chunk of edges, adds their change of the totals to totals, and
// returns the number of edges changed.
func (s *State) updateChunk(
	statements *cascadeStatements, args []any, totals map[total]int64, pace *cascadePace,
) (changed int64, err error) {
	rows, err := s.tx.conn.Query(s.tx.ctx, statements.updateChunk, args...)
	if err != nil {
		return 0, err
	}
	var label string
	var n, next int64
	_, err = pgx.ForEachRow(rows, []any{&label, &n, &next}, func() error {
		totals[total{s.workspace, graph.KindEdge, label}] += statements.sign * n
		changed += n
		pace.observe(next, time.Now())
		return nil
	})
	return changed, err
}
