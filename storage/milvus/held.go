package milvus

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// countAll is the field that counts, as Milvus calls it.
const countAll = "count(*)"

// Count reports how many entries a collection has, with all that was written before.
// Milvus standalone takes up to half a second for it.
func (db *DB) Count(ctx context.Context, name string) (n int64, err error) {
	return db.count(ctx, name, "")
}

// CountWorkspace is Count for the entries of a workspace.
func (db *DB) CountWorkspace(ctx context.Context, name string, workspace uuid.UUID) (n int64, err error) {
	return db.count(ctx, name, ofWorkspace(workspace))
}

func (db *DB) count(ctx context.Context, name, expression string) (n int64, err error) {
	err = db.query(ctx, opCount, name, expression, countAll, func(found entity.Column) error {
		counts, ok := found.(*entity.ColumnInt64)
		if !ok || counts.Len() != 1 {
			return &refusal{reason: "a count without a number"}
		}
		n = counts.Data()[0]
		return nil
	})
	return n, err
}

// Held names the entries of those nodes of a workspace whose id is above one and not
// above another (nil: from the first, to the last), with all that was written before,
// in no order. There may be at most 16,383; more are TooLarge.
func (db *DB) Held(
	ctx context.Context, name string, workspace uuid.UUID, above, upTo *uuid.UUID,
) (ids []EntryID, err error) {
	expression := ofWorkspace(workspace)
	if above != nil {
		expression += fmt.Sprintf(` && %s > "%s"`, fieldNode, above)
	}
	if upTo != nil {
		expression += fmt.Sprintf(` && %s <= "%s"`, fieldNode, upTo)
	}
	err = db.query(ctx, opList, name, expression, fieldID, func(found entity.Column) error {
		keys, ok := found.(*entity.ColumnVarChar)
		if !ok {
			return &refusal{reason: "keys that are no text"}
		}
		if keys.Len() >= maxHits {
			return fault.Newf(fault.TooLarge, "%d or more entries are more than are listed at once", maxHits)
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

// query reads a field of the entries that an expression is true of, with all that was
// written before.
func (db *DB) query(
	ctx context.Context, operation, name, expression, field string, read func(entity.Column) error,
	options ...client.SearchQueryOptionFunc,
) error {
	if err := checkName(name); err != nil {
		return err
	}
	options = append(options, client.WithSearchQueryConsistencyLevel(entity.ClStrong))
	return db.do(ctx, operation, countLimit, func(ctx context.Context) error {
		return db.loaded(ctx, name, func() error {
			found, err := db.client.Query(ctx, name, nil, expression, []string{field}, options...)
			if err != nil {
				return err
			}
			return read(found.GetColumn(field))
		})
	})
}
