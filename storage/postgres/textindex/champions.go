package textindex

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A term that more nodes have than a search reads has a champion list: its heaviest
// postings, by what each adds to a score whatever the term weighs (Manning, Raghavan and
// Schütze, "Introduction to Information Retrieval", 2008, 7.1.3). Writers keep the lists
// as they write postings; DueChampionLists and RefreshChampionList fill them and cut
// them back.

const (
	// championsLeast is how many postings a list has when it was filled or cut back, of a
	// term that very many nodes have more: one in championsShare, at most championsMost, so
	// that two lists fit what a search reads. What suits several words best is further
	// down in the list of each the more nodes there are. A list is due again at half as many,
	// and at a quarter more.
	championsLeast = 4_000
	championsMost  = 7_500
	championsShare = 16
	// championsUnnoticed is in how many transactions one looks whether a term has become so
	// frequent that it requires a list: a term is in most transactions before it is.
	championsUnnoticed = 8
	// impactScale is what an impact of 1 is as an integer: integers are the same here and
	// in Postgres, to the last digit.
	impactScale = 1_024
)

// KeepsChampions is the setting by which a transaction says that champion lists agree with the
// postings when it ends: as a restore brings both.
const KeepsChampions = `SET LOCAL livegraph.champions = 'kept'`

// championList is which postings of a term are in its list.
type championList struct {
	average int64 // length of a text, that impacts are reckoned with
	floor   int64
	node    uuid.UUID // of the postings with the impact of the floor those of nodes up to it
}

// championImpact is the impact of a posting p in a list l, as Postgres computes it: how
// often the term is there, by how long the text is, as BM25 with b 0.75 has it. The part
// that a posting has in a score is impact / (impact + k1).
const championImpact = `(p.count::bigint * 4096 * l.average / (l.average + 3 * p.length::bigint))`

// impact is championImpact.
func (l *championList) impact(count int16, length int32) int64 {
	return int64(count) * (4 * impactScale) * l.average / (l.average + 3*int64(length))
}

// has reports whether a posting is one for the list. Of those that weigh the same it is
// the oldest nodes: new ones, which are mostly like others, do not push others out.
func (l *championList) has(p *lexicalPostingRow) bool {
	impact := l.impact(p.count, p.length)
	return impact > l.floor || impact == l.floor && bytes.Compare(p.node[:], l.node[:]) <= 0
}

const (
	selectChampionLists = `SELECT workspace_id, term, average, floor, floor_node FROM lexical_champion_lists
		WHERE workspace_id = ANY($1) AND floor IS NOT NULL`
	// Where the sizes of lists change, those that are too large or too small are due.
	resizeChampionLists = ` UPDATE lexical_champion_lists l SET size = l.size + c.change,
			due = l.due OR l.size + c.change NOT BETWEEN l.kept / 2 AND l.kept * 5 / 4
		FROM (SELECT workspace_id, term, %s AS change FROM changed GROUP BY workspace_id, term) c
		WHERE l.workspace_id = c.workspace_id AND l.term = c.term`
	deleteChampions = `WITH changed AS (DELETE FROM lexical_champions p USING unnest($1::uuid[], $2::text[],
		$3::uuid[]) AS t (workspace_id, term, id)
		WHERE p.workspace_id = t.workspace_id AND p.term = t.term AND p.node_id = t.id RETURNING p.workspace_id, p.term)`
	insertChampions = `WITH changed AS (INSERT INTO lexical_champions
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::int[])
		ON CONFLICT (workspace_id, term, node_id) DO UPDATE SET count = excluded.count, length = excluded.length
		RETURNING workspace_id, term)`
)

// queueLists has the champion lists of workspaces read, beside other things.
func (p *lexicalPortion) queueLists(batch *pgx.Batch, workspaces []uuid.UUID) {
	batch.Queue(selectChampionLists, workspaces).Query(func(rows pgx.Rows) error {
		var t lexicalTerm
		var l championList
		_, err := pgx.ForEachRow(rows, []any{&t.workspace, &t.text, &l.average, &l.floor, &l.node}, func() error {
			p.lists[t] = l
			return nil
		})
		return err
	})
}

// queueChampions has the postings that are written enter the lists and leave them.
// Those of nodes that had the term before leave first, whether or not they come again.
func (p *lexicalPortion) queueChampions(batch *pgx.Batch) {
	if len(p.lists) == 0 {
		return
	}
	var leave, enter lexicalPostingRows
	for _, row := range p.dropped {
		if _, listed := p.lists[lexicalTerm{row.workspace, row.term}]; listed {
			leave = append(leave, row)
		}
	}
	for _, row := range p.postings {
		list, listed := p.lists[lexicalTerm{row.workspace, row.term}]
		if !listed {
			continue
		}
		if row.again {
			leave = append(leave, row)
		}
		if list.has(&row) {
			enter = append(enter, row)
		}
	}
	if len(leave) > 0 {
		ids, terms, _, _ := leave.columns()
		batch.Queue(deleteChampions+fmt.Sprintf(resizeChampionLists, "-count(*)"), ids.Workspaces, terms, ids.IDs)
	}
	if len(enter) > 0 {
		ids, terms, counts, lengths := enter.columns()
		batch.Queue(
			insertChampions+fmt.Sprintf(resizeChampionLists, "count(*)"), ids.Workspaces, terms, ids.IDs, counts, lengths,
		)
	}
}
