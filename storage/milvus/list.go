package milvus

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// countAll is Milvus's output field for the number of matching entries.
const countAll = "count(*)"

// Count returns the number of entries of a collection, including all previous writes. It takes up to
// half a second with Milvus standalone.
func (db *DB) Count(ctx context.Context, name string) (n int64, err error) {
	return db.count(ctx, name, "")
}

// CountWorkspace returns the number of entries of a workspace, as Count does.
func (db *DB) CountWorkspace(ctx context.Context, name string, workspace uuid.UUID) (n int64, err error) {
	return db.count(ctx, name, workspaceFilter(workspace))
}

func (db *DB) count(ctx context.Context, name, expression string) (n int64, err error) {
	err = db.query(ctx, opCount, name, expression, countAll, func(found entity.Column) error {
		counts, ok := found.(*entity.ColumnInt64)
		if !ok || counts.Len() != 1 {
			return &serverError{reason: "the result of a count is not a number"}
		}
		n = counts.Data()[0]
		return nil
	})
	return n, err
}

// ListIDs returns the ids of the entries of a workspace's nodes with ids greater than after and at most
// upTo, in no particular order. A nil bound does not restrict the nodes. The result includes all
// previous writes. If there are more than 16,383 entries, the error is fault.TooLarge.
func (db *DB) ListIDs(
	ctx context.Context, name string, workspace uuid.UUID, after, upTo *uuid.UUID,
) (ids []EntryID, err error) {
	expression := workspaceFilter(workspace)
	if after != nil {
		expression += fmt.Sprintf(` && %s > "%s"`, fieldNode, after)
	}
	if upTo != nil {
		expression += fmt.Sprintf(` && %s <= "%s"`, fieldNode, upTo)
	}
	err = db.query(ctx, opList, name, expression, fieldID, func(found entity.Column) error {
		keys, ok := found.(*entity.ColumnVarChar)
		if !ok {
			return &serverError{reason: "the keys are not strings"}
		}
		if keys.Len() >= maxHits {
			return fault.Newf(fault.TooLarge, "%d or more entries cannot be listed at once", maxHits)
		}
		ids = make([]EntryID, keys.Len())
		for i, key := range keys.Data() {
			if ids[i], err = parseKey(key); err != nil {
				return err
			}
		}
		return nil
	}, client.WithLimit(maxHits))
	return ids, err
}

// query passes a field of the entries that match an expression to read, including all previous
// writes.
func (db *DB) query(
	ctx context.Context, operation, name, expression, field string, read func(entity.Column) error,
	options ...client.SearchQueryOptionFunc,
) error {
	if err := checkName(name); err != nil {
		return err
	}
	options = append(options, client.WithSearchQueryConsistencyLevel(entity.ClStrong))
	return db.do(ctx, operation, countLimit, func(ctx context.Context) error {
		return db.withLoaded(ctx, name, func() error {
			found, err := db.client.Query(ctx, name, nil, expression, []string{field}, options...)
			if err != nil {
				return err
			}
			return read(found.GetColumn(field))
		})
	})
}
