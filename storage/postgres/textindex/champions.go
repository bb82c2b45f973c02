package textindex

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A term of more nodes than a search reads has a champion list: the postings with the highest
// impact, the part of a score that does not depend on the weight of the term (Manning, Raghavan and
// Schütze, "Introduction to Information Retrieval", 2008, 7.1.3). Writers update the lists when they
// write postings. DueChampionLists and RefreshChampionList fill and shorten them.

const (
	// minChampions is the number of postings of a list after it is filled or shortened. The list
	// of a term of very many nodes has more: one in championsShare of its postings, at most
	// maxChampions, so that a search can read two lists. The more nodes there are, the further
	// down in the list of each word are the nodes that match several words best. A list is due
	// again at half of that number, and at a quarter more.
	minChampions   = 4_000
	maxChampions   = 7_500
	championsShare = 16
	// championCheckInterval is the average number of transactions per check whether a term is
	// frequent enough for a list. Such a term is in most transactions, so it is found soon.
	championCheckInterval = 8
	// impactScale is the integer that represents an impact of 1. Integers are used because their
	// arithmetic has exactly the same results here and in Postgres.
	impactScale = 1_024
)

// KeepsChampions is the statement with which a transaction declares that champion lists agree with
// the postings when it commits. A restore uses it, because it writes both.
const KeepsChampions = `SET LOCAL livegraph.champions = 'kept'`

// championList describes which postings of a term are in its list.
type championList struct {
	average int64     // average length of a text, with which impacts are computed
	floor   int64     // minimum impact
	node    uuid.UUID // maximum node id of postings whose impact is equal to floor
}

// championImpact is the SQL expression of the impact of a posting p in a list l: the frequency of
// the term, normalised by the length of the text as in BM25 with b 0.75. A posting adds
// impact / (impact + k1) to a score, multiplied by the weight of the term.
const championImpact = `(p.count::bigint * 4096 * l.average / (l.average + 3 * p.length::bigint))`

// impact computes championImpact.
func (l *championList) impact(count int16, length int32) int64 {
	return int64(count) * (4 * impactScale) * l.average / (l.average + 3*int64(length))
}

// contains reports whether a posting belongs to the list. Of postings with the impact of the floor
// those of the oldest nodes do, so that new nodes, which are often similar, do not displace others.
func (l *championList) contains(p *lexicalPostingRow) bool {
	impact := l.impact(p.count, p.length)
	return impact > l.floor || impact == l.floor && bytes.Compare(p.node[:], l.node[:]) <= 0
}

const (
	selectChampionLists = `SELECT workspace_id, term, average, floor, floor_node FROM lexical_champion_lists
		WHERE workspace_id = ANY($1) AND floor IS NOT NULL`
	// Updates the sizes of lists. Lists that become too large or too small are due.
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

// queueLists queues the query of the champion lists of workspaces.
func (p *lexicalBatch) queueLists(batch *pgx.Batch, workspaces []uuid.UUID) {
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

// queueChampions queues the changes of champion lists for the postings that are written. Postings
// of nodes that had the term before are removed first, even if they are added again.
func (p *lexicalBatch) queueChampions(batch *pgx.Batch) {
	if len(p.lists) == 0 {
		return
	}
	var removed, added lexicalPostingRows
	for _, row := range p.dropped {
		if _, listed := p.lists[lexicalTerm{row.workspace, row.term}]; listed {
			removed = append(removed, row)
		}
	}
	for _, row := range p.postings {
		list, listed := p.lists[lexicalTerm{row.workspace, row.term}]
		if !listed {
			continue
		}
		if row.hadTerm {
			removed = append(removed, row)
		}
		if list.contains(&row) {
			added = append(added, row)
		}
	}
	if len(removed) > 0 {
		ids, terms, _, _ := removed.columns()
		batch.Queue(deleteChampions+fmt.Sprintf(resizeChampionLists, "-count(*)"), ids.Workspaces, terms, ids.IDs)
	}
	if len(added) > 0 {
		ids, terms, counts, lengths := added.columns()
		batch.Queue(
			insertChampions+fmt.Sprintf(resizeChampionLists, "count(*)"), ids.Workspaces, terms, ids.IDs, counts, lengths,
		)
	}
}
