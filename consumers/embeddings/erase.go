package embeddings

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// Eraser removes a deleted workspace from the search indexes. It does not call Milvus if there
// is no index.
type Eraser struct {
	Texts   *textindex.Store
	Vectors *milvus.DB
}

// WorkspaceRows returns the number of vectors of a workspace in all indexes.
func (e Eraser) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (int64, error) {
	return e.Texts.IndexedVectors(ctx, workspace)
}

// EraseWorkspace removes the vectors of a closed workspace and calls onErased for each index with
// the number of removed rows. A concurrent writer reads the workspace under the same lock and
// sees that it is closed.
func (e Eraser) EraseWorkspace(ctx context.Context, workspace uuid.UUID, onErased func(rows int64) error) error {
	indexes, err := e.Texts.UndroppedIndexes(ctx)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if !index.Prepared {
			continue
		}
		rows, err := e.erase(ctx, index, workspace)
		if err != nil {
			return err
		}
		if err := onErased(rows); err != nil {
			return err
		}
	}
	return nil
}

func (e Eraser) erase(ctx context.Context, index textindex.SearchIndex, workspace uuid.UUID) (rows int64, err error) {
	write := func(ctx context.Context, w *textindex.IndexWriter) (err error) {
		if rows, err = w.Vectors(ctx, workspace); err != nil {
			return err
		}
		err = e.Vectors.DeleteWorkspace(ctx, index.Collection, workspace)
		if err != nil && !errors.Is(err, milvus.ErrNoCollection) {
			return err
		}
		return w.Forget(ctx, workspace)
	}
	err = e.Texts.WriteIndex(ctx, index.ID, []uuid.UUID{workspace}, write)
	return rows, err
}
