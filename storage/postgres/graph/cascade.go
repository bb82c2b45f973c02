package graphstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// A cascade is one statement, with the totals of what it changed and, beyond what the
// journal lists, the ids of the edges. One of very many edges is more statements of the same
// transaction: the ids are listed first, and then so many edges at a time are changed.
const (
	countCascade = `INSERT INTO graph_totals AS t (workspace_id, kind, label, standing)
		SELECT $1, 2, c.relation_type, %s FROM changed c GROUP BY c.relation_type
		ON CONFLICT (workspace_id, kind, label) DO UPDATE SET standing = t.standing + excluded.standing`
	// listEdges writes the ids of edges into rows of so many.
	listEdges = `INSERT INTO cascade_edges (workspace_id, sequence, node_id, place, edge_ids)
		SELECT $1, $4, $2, min(n), array_agg(id ORDER BY id)
		FROM (SELECT e.id, row_number() OVER (ORDER BY e.id) - 1 AS n FROM %s) c WHERE %s GROUP BY n / %d`
	touchEdges = `version = e.version + CASE WHEN e.changed_by = $4 THEN 0 ELSE 1 END, changed_by = $4,
		updated_at = GREATEST($5, e.created_at)`
	takeSet   = `deleted = true, deleted_by = $3, taken_sequence = $3, taken_node = $2, ` + touchEdges
	returnSet = `deleted = false, deleted_by = 0, ` + touchEdges

	changePiece = `WITH changed AS (
		UPDATE edges e SET %s WHERE e.workspace_id = $1 AND e.id = ANY((
			SELECT edge_ids[$7 + 1 : $7 + $8] FROM cascade_edges
			WHERE workspace_id = $1 AND sequence = $4 AND node_id = $2 AND place = $6)::uuid[])` + sameArguments + `
		RETURNING e.relation_type)
		SELECT relation_type, count(*) FROM changed GROUP BY relation_type`
	// sameArguments names parameters that a statement may have no use for: all have the same.
	sameArguments = ` AND ($2::uuid, $3::bigint) IS NOT NULL`
)

// cascadePiece is how many edges of a cascade of very many are changed at a time. Anyone who
// commits meanwhile waits until what the piece wrote to the log of the database is on disk.
const cascadePiece = 100

// cascadeStatements are the statements of one direction.
type cascadeStatements struct {
	whole        string
	list, change string // of pieces, see cascadeInPieces
	sign         int64  // of the totals
}

func statementsOf(set string, these edgeStatement, sign int64) cascadeStatements {
	found := `edges e WHERE e.workspace_id = $1 AND ` + string(these)
	beyond := fmt.Sprintf(`(SELECT count(*) FROM changed) > %d`, graph.MaxListed)
	return cascadeStatements{
		whole: `WITH changed AS (UPDATE edges e SET ` + set + ` WHERE e.workspace_id = $1 AND ` + string(these) + `
			RETURNING e.relation_type, e.id), listed AS (` + fmt.Sprintf(
			listEdges, `changed e`, beyond, graphread.CascadeRow,
		) + `) ` +
			fmt.Sprintf(countCascade, fmt.Sprintf("%d * count(*)", sign)),
		list:   fmt.Sprintf(listEdges, found+sameArguments, `true`, graphread.CascadeRow),
		change: fmt.Sprintf(changePiece, set),
		sign:   sign,
	}
}

var (
	takeEdges   = statementsOf(takeSet, isAtNode, -1)
	returnEdges = statementsOf(returnSet, isTaken, 1)
)

// cascadeInDatabase has the database take or return the edges of a node, and does the
// same to those in memory.
func (s *State) cascadeInDatabase(c *graph.Cascade, sequence graph.Sequence, at time.Time) error {
	if err := s.beforeWriting(); err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	statements := &takeEdges
	if c.Restored {
		statements = &returnEdges
	}
	args := []any{s.workspace, c.Mark.Node, int64(c.Mark.Sequence), int64(sequence), micros(at)}
	var err error
	if s.tx.most == 0 && c.Count > graphread.CascadeRow { // its own transaction: nobody waits for it
		err = s.cascadeInPieces(statements, args)
	} else {
		_, err = s.tx.conn.Exec(s.tx.ctx, statements.whole, args...)
	}
	if err != nil {
		return fmt.Errorf("changing the edges of a node: %w", err)
	}
	s.cascade(c, sequence, at, func(_ edgeRow, e *graph.Edge) edgeRow { return edgeRow{stored: e, now: e} })
	if c.Restored {
		s.forgetWhole()
	}
	return nil
}

// cascadeInPieces changes the edges in pieces, and rests after each for as long as it took:
// the commands of others share the disk and the processors with it.
func (s *State) cascadeInPieces(statements *cascadeStatements, args []any) error {
	listed, err := s.tx.conn.Exec(s.tx.ctx, statements.list, args[:4]...)
	if err != nil {
		return err
	}
	totals := map[total]int64{}
	for row := range listed.RowsAffected() {
		for from := 0; from < graphread.CascadeRow; from += cascadePiece {
			began := time.Now()
			changed, err := s.changePiece(
				statements, append(slices.Clip(args), row*graphread.CascadeRow, from, cascadePiece), totals,
			)
			if err != nil {
				return err
			}
			if changed == 0 {
				break
			}
			if !sleep.For(s.tx.ctx, time.Since(began)) {
				return s.tx.ctx.Err()
			}
		}
	}
	b := &pgx.Batch{}
	queueTotals(b, totals)
	return s.tx.conn.send(s.tx.ctx, b)
}

// changePiece changes some edges, returns how many, and adds what they change of the totals.
func (s *State) changePiece(
	statements *cascadeStatements, args []any, totals map[total]int64,
) (changed int64, err error) {
	rows, err := s.tx.conn.Query(s.tx.ctx, statements.change, args...)
	if err != nil {
		return 0, err
	}
	var label string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&label, &n}, func() error {
		totals[total{s.workspace, graph.KindEdge, label}] += statements.sign * n
		changed += n
		return nil
	})
	return changed, err
}
