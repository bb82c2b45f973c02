package milvus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
)

const (
	maxHits = 16_384 // limit of a search in Milvus
	// Limits of the candidates of a search (ef), which are twice the requested hits. The minimum
	// is enough for a recall above 95 % with few hits (see TestSearchFindsTheNearest). The time
	// of a search is proportional to them.
	minEF = 128
	maxEF = 32_768
	// searchConsistency allows Milvus to return results that are stale by up to a few seconds
	// instead of waiting for the newest entries. On a server these are visible after about 0.2 s,
	// and waiting would slow down every search by as much. Callers read the nodes that are found
	// from Postgres anyway. milvus-lite always returns the newest entries.
	searchConsistency = entity.ClBounded
)

// Filter restricts a search to entity types and nodes.
type Filter struct {
	EntityTypes []string    // any of these; empty: no restriction
	Nodes       []uuid.UUID // any of these; nil: no restriction; at most 5,000
}

// Search returns the chunks of a workspace with the nearest vectors, nearest first, at most limit (1 to
// 16,384). The result may lack entries written, and contain entries deleted, within about the last
// second. Of many unflushed entries Milvus standalone searches only the nearest clusters, so it may
// return fewer than there are. An alias is resolved by an additional request. After a restart of
// Milvus the first search loads the collection.
func (db *DB) Search(
	ctx context.Context, name string, workspace uuid.UUID, vector []float32, filter Filter, limit int,
) ([]retrieval.VectorHit, error) {
	if limit < 1 || limit > maxHits {
		return nil, fmt.Errorf("a search in Milvus returns 1 to %d hits, not %d", maxHits, limit)
	}
	expression, err := filter.expression(workspace)
	if err != nil {
		return nil, err
	}
	c, err := db.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := checkVector(vector, c.dimensions); err != nil {
		return nil, err
	}
	if filter.Nodes != nil && len(filter.Nodes) == 0 {
		return nil, nil
	}
	var hits []retrieval.VectorHit
	err = db.do(ctx, opSearch, readLimit, func(ctx context.Context) (err error) {
		hits, err = db.search(ctx, c.name, workspace, expression, vector, limit)
		if isServerError(err, (*serverError).noCollection) {
			db.invalidate(c.name)
		}
		return err
	})
	return hits, err
}

// search makes one call. It requests only the key field: without fields, milvus-lite returns all of
// them, including vectors; with others, Milvus 2.3 fails when nothing is found. The key is always
// returned, whether or not the SDK finds it among the fields.
func (db *DB) search(
	ctx context.Context, name string, workspace uuid.UUID, expression string, vector []float32, limit int,
) (hits []retrieval.VectorHit, err error) {
	params, err := entity.NewIndexHNSWSearchParam(min(max(minEF, 2*limit), maxEF))
	if err != nil {
		return nil, err
	}
	err = db.withLoaded(ctx, name, func() error {
		found, err := db.client.Search(ctx, name, nil, expression, []string{fieldID}, []entity.Vector{
			entity.FloatVector(vector),
		},
			fieldVector, metricType, limit, params, client.WithSearchQueryConsistencyLevel(searchConsistency))
		if err == nil {
			hits, err = readHits(found, workspace)
		}
		return err
	})
	return hits, err
}

// expression returns the filter expression. It starts with the workspace, by which Milvus selects the
// partition.
func (f Filter) expression(workspace uuid.UUID) (string, error) {
	parts := []string{workspaceFilter(workspace)}
	if len(f.EntityTypes) > 0 {
		for _, t := range f.EntityTypes {
			if !entityTypePattern.MatchString(t) {
				return "", fault.New(fault.Invalid, "an entity type contains invalid characters or is too long")
			}
		}
		parts = append(parts, anyOf(fieldEntityType, f.EntityTypes))
	}
	if len(f.Nodes) > maxCallKeys {
		return "", fmt.Errorf("a search in Milvus can be restricted to at most %d nodes, not %d", maxCallKeys, len(f.Nodes))
	}
	if len(f.Nodes) > 0 {
		ids := make([]string, len(f.Nodes))
		for i, id := range f.Nodes {
			ids[i] = id.String()
		}
		parts = append(parts, anyOf(fieldNode, ids))
	}
	return strings.Join(parts, " && "), nil
}

// readHits converts a search result. It returns an error if a key belongs to another workspace, even
// if the filter should exclude that.
func readHits(found []client.SearchResult, workspace uuid.UUID) ([]retrieval.VectorHit, error) {
	if len(found) == 0 { // nothing was found
		return nil, nil
	}
	keys, ok := found[0].IDs.(*entity.ColumnVarChar)
	if !ok || keys.Len() != len(found[0].Scores) {
		return nil, &serverError{reason: "the numbers of keys and scores of a search differ"}
	}
	hits := make([]retrieval.VectorHit, 0, keys.Len())
	for i, key := range keys.Data() {
		id, err := parseKey(key)
		if err != nil || id.Workspace != workspace {
			return nil, &serverError{reason: "a search returned an entry that does not match its filter"}
		}
		hits = append(hits, retrieval.VectorHit{Node: id.Node, Chunk: id.Chunk, Cosine: min(
			max(float64(found[0].Scores[i]), -1), 1,
		)})
	}
	sortByCosine(hits)
	return hits, nil
}

func sortByCosine(hits []retrieval.VectorHit) {
	slices.SortStableFunc(hits, func(a, b retrieval.VectorHit) int { return cmp.Compare(b.Cosine, a.Cosine) })
}
