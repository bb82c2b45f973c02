package load

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/milvus"
)

const (
	// maxSearched is the number of nodes touched by a round that are searched for.
	maxSearched = 12
	// vectorsTimeout bounds how long Milvus may contain another number of vectors than was written. A
	// killed milvus-lite may have lost some that it had acknowledged: the index manager detects that by
	// two checks, half a minute apart, and rebuilds the index.
	vectorsTimeout = 90 * time.Second
)

// checkSearch checks that searches find the live nodes that the round touched and no deleted ones,
// and that the index contains exactly the live nodes.
func (t *tenant) checkSearch(ctx context.Context, stores Stores) (found []Violation, err error) {
	left := maxSearched
	for id := range t.history.touched {
		if left--; left < 0 {
			break
		}
		n := t.history.graph.Nodes[id]
		for _, path := range []string{searchPath, hybridPath} {
			if path == searchPath && stores.Milvus == "" {
				continue // it answers 503 without vectors
			}
			hits, err := t.find(ctx, path, lastWord(n.Name))
			if err != nil {
				return found, fmt.Errorf("searching for %q: %w", n.Name, err)
			}
			if v := compareHits(path, n, hits); v != nil {
				found = append(found, *v)
			}
		}
	}
	wrong, err := t.checkIndexes(ctx, stores)
	return append(found, wrong...), err
}

func lastWord(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }

// compareHits checks that a search for a word of the node's name finds the node if and only if it
// is live.
func compareHits(path string, n *graph.Node, hits map[uuid.UUID]bool) *Violation {
	switch {
	case n.Deleted && hits[n.ID]:
		return &Violation{13, "a search finds what is gone", fmt.Sprintf(
			"%s for %q: node %s, version %d", path, n.Name, n.ID, n.Version,
		)}
	case !n.Deleted && !hits[n.ID]:
		return &Violation{13, "a search does not find what stands", fmt.Sprintf(
			"%s for %q: node %s, version %d, among %d", path, n.Name, n.ID, n.Version, len(hits),
		)}
	}
	return nil
}

// checkIndexes compares the nodes in the indexes with the live nodes.
func (t *tenant) checkIndexes(ctx context.Context, stores Stores) (found []Violation, err error) {
	queries := map[string]string{"words": `SELECT node_id FROM lexical_nodes WHERE workspace_id = $1 AND digest <> ''`}
	if stores.Milvus != "" {
		queries["vectors"] = `SELECT e.node_id FROM embedding_nodes e JOIN search_indexes i ON i.id = e.index_id
			AND i.state = 'live'
			WHERE e.workspace_id = $1 AND (e.vectors > 0 OR e.intent)`
	}
	for what, query := range queries {
		answer, err := stores.Postgres.Query(ctx, query, t.uuid)
		if err != nil {
			return found, err
		}
		ids, err := pgx.CollectRows(answer, pgx.RowTo[uuid.UUID])
		if err != nil {
			return found, err
		}
		found = append(found, compareIndexed(t.id, what, t.history.graph.Nodes, ids)...)
	}
	return found, nil
}

// compareIndexed compares the nodes in an index with the live nodes. Each node has words, and so
// vectors.
func compareIndexed(workspace, what string, nodes map[uuid.UUID]*graph.Node, ids []uuid.UUID) (found []Violation) {
	indexed := map[uuid.UUID]bool{}
	for _, id := range ids {
		indexed[id] = true
		if n := nodes[id]; n == nil || n.Deleted {
			found = appendLimited(found, Violation{
				13, "the index of " + what + " has what is gone", fmt.Sprintf("workspace %s, node %s", workspace, id),
			})
		}
	}
	for id, n := range nodes {
		if !n.Deleted && !indexed[id] {
			found = appendLimited(found, Violation{
				13, "the index of " + what + " lacks what stands", fmt.Sprintf("workspace %s, node %s", workspace, id),
			})
		}
	}
	return found
}

// checkVectors compares the number of vectors in Milvus with the number in Postgres.
func (l *Load) checkVectors(ctx context.Context, stores Stores) ([]Violation, error) {
	if stores.Milvus == "" {
		return nil, nil
	}
	db, err := milvus.Open(ctx, milvus.Options{Address: stores.Milvus})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(vectorsTimeout); ; {
		var (
			collection string
			want       int64
		)
		err := stores.Postgres.QueryRow(ctx, `SELECT i.collection, coalesce(sum(e.vectors), 0) FROM search_indexes i
			LEFT JOIN embedding_nodes e ON e.index_id = i.id WHERE i.state = 'live' GROUP BY i.collection`).Scan(
			&collection, &want,
		)
		if err != nil {
			return nil, fmt.Errorf("asking which index is live: %w", err)
		}
		got, err := db.Count(ctx, collection)
		if err != nil || got == want {
			return nil, err
		}
		if time.Now().After(deadline) {
			return []Violation{
				{13, "Milvus has another number of vectors than what stands has", fmt.Sprintf(
					"collection %s: %d, must be %d", collection, got, want,
				)},
			}, nil
		}
		if !sleep(ctx, settlePause) {
			return nil, ctx.Err()
		}
	}
}
