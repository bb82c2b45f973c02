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
	maxHits = 16_384 // Milvus's own bound of a search
	// Candidates that a search keeps: twice the hits, and enough for a recall above
	// 95 % of few (see TestSearchFindsWhatIsNearest). More is slower in proportion.
	leastWidth = 128
	mostWidth  = 32_768
	// staleness tells Milvus to answer from what it has, if that is not older than its
	// own bound of some seconds, and not to wait for the newest entries: on a server
	// they are there about 0.2 s later, and waiting would cost every search as much.
	// Anyone who searches reads what is found from the truth anyway. milvus-lite always
	// has the newest.
	staleness = entity.ClBounded
)

// Near restricts a search.
type Near struct {
	EntityTypes []string    // any of; empty: any
	Nodes       []uuid.UUID // any of; nil: any; at most 5,000
}

// Search returns the chunks of a workspace whose vectors are nearest, the nearest first,
// at most limit (1 to 16,384). What was written within the last second or so may be
// missing, what was deleted may still be there. Of many entries that are not flushed
// Milvus standalone looks at those of the nearest clusters only, so that fewer may be
// found than there are. An alias costs a look at where it leads;
// after a restart of Milvus the first search loads the collection.
func (db *DB) Search(
	ctx context.Context, name string, workspace uuid.UUID, vector []float32, near Near, limit int,
) ([]retrieval.VectorHit, error) {
	if limit < 1 || limit > maxHits {
		return nil, fmt.Errorf("a search in Milvus gives 1 to %d hits, not %d", maxHits, limit)
	}
	expression, err := near.expression(workspace)
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
	if near.Nodes != nil && len(near.Nodes) == 0 {
		return nil, nil
	}
	var hits []retrieval.VectorHit
	err = db.do(ctx, opSearch, readLimit, func(ctx context.Context) (err error) {
		hits, err = db.search(ctx, c.name, workspace, expression, vector, limit)
		if isRefusal(err, (*refusal).noCollection) {
			db.forget(name)
		}
		return err
	})
	return hits, err
}

// search is one call. It asks for no field but the key: asked for none, milvus-lite gives
// all, vectors too; asked for others, Milvus 2.3 fails when nothing is found. The key comes
// by itself, whether or not the SDK finds it among the fields.
func (db *DB) search(
	ctx context.Context, name string, workspace uuid.UUID, expression string, vector []float32, limit int,
) (hits []retrieval.VectorHit, err error) {
	width, err := entity.NewIndexHNSWSearchParam(min(max(leastWidth, 2*limit), mostWidth))
	if err != nil {
		return nil, err
	}
	err = db.loaded(ctx, name, func() error {
		found, err := db.client.Search(ctx, name, nil, expression, []string{fieldID}, []entity.Vector{
			entity.FloatVector(vector),
		},
			fieldVector, metricType, limit, width, client.WithSearchQueryConsistencyLevel(staleness))
		if err == nil {
			hits, err = readHits(found, workspace)
		}
		return err
	})
	return hits, err
}

// expression is the filter: the workspace first, which Milvus finds the partition by.
func (n Near) expression(workspace uuid.UUID) (string, error) {
	parts := []string{ofWorkspace(workspace)}
	if len(n.EntityTypes) > 0 {
		for _, t := range n.EntityTypes {
			if !entityTypes.MatchString(t) {
				return "", fault.New(fault.Invalid, "an entity type is not a plain word")
			}
		}
		parts = append(parts, anyOf(fieldEntityType, n.EntityTypes))
	}
	if len(n.Nodes) > callKeys {
		return "", fmt.Errorf("a search in Milvus is held to %d nodes at most, not %d", callKeys, len(n.Nodes))
	}
	if len(n.Nodes) > 0 {
		ids := make([]string, len(n.Nodes))
		for i, id := range n.Nodes {
			ids[i] = id.String()
		}
		parts = append(parts, anyOf(fieldNode, ids))
	}
	return strings.Join(parts, " && "), nil
}

// readHits reads an answer. A key of another workspace is never handed out, whatever
// the filter let through.
func readHits(found []client.SearchResult, workspace uuid.UUID) ([]retrieval.VectorHit, error) {
	if len(found) == 0 { // nothing was found
		return nil, nil
	}
	keys, ok := found[0].IDs.(*entity.ColumnVarChar)
	if !ok || keys.Len() != len(found[0].Scores) {
		return nil, &refusal{reason: "a search with other keys than scores"}
	}
	hits := make([]retrieval.VectorHit, 0, keys.Len())
	for i, key := range keys.Data() {
		id, err := parseKey(key)
		if err != nil || id.Workspace != workspace {
			return nil, &refusal{reason: "a search that answers with what was not asked for"}
		}
		hits = append(hits, retrieval.VectorHit{Node: id.Node, Chunk: id.Chunk, Cosine: min(
			max(float64(found[0].Scores[i]), -1), 1,
		)})
	}
	nearestFirst(hits)
	return hits, nil
}

func nearestFirst(hits []retrieval.VectorHit) {
	slices.SortStableFunc(hits, func(a, b retrieval.VectorHit) int { return cmp.Compare(b.Cosine, a.Cosine) })
}
