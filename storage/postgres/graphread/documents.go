package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/documentfilter"
	"github.com/livegraph/livegraph/storage/postgres/graphrow"
)

// Documents are nodes that their property marks, see package document. These conditions are those of
// the indexes.
const (
	isDocumentPart = `properties -> 'document' ->> 'externalId' IS NOT NULL AND NOT deleted`
	isDocument     = isDocumentPart + ` AND properties -> 'document' -> 'passage' IS NULL`
	isPassage      = isDocumentPart + ` AND properties -> 'document' -> 'passage' IS NOT NULL`
	hasExternalID  = `md5(properties -> 'document' ->> 'externalId') = `
)

// DocumentNodes reads the nodes of the documents with the external ids, without their passages, oldest
// first. A caller must check the marks of the nodes, because anyone can set properties.
func (db *Store) DocumentNodes(ctx context.Context, workspace uuid.UUID, externalIDs []string) ([]graph.Node, error) {
	return db.readDocuments(ctx, `SELECT `+graphrow.NodeColumns+` FROM nodes WHERE workspace_id = $1
		AND `+hasExternalID+`ANY(SELECT md5(e) FROM unnest($2::text[]) e) AND `+isDocument+`
		AND properties -> 'document' ->> 'externalId' = ANY($2) ORDER BY created_at, id`, workspace, externalIDs)
}

// PassageNodes reads the nodes of the passages of a document in the order of their indexes, at most
// limit.
func (db *Store) PassageNodes(
	ctx context.Context, workspace, document uuid.UUID, externalID string, limit int,
) ([]graph.Node, error) {
	return db.readDocuments(ctx, `SELECT `+graphrow.NodeColumns+` FROM nodes WHERE workspace_id = $1
		AND `+hasExternalID+`md5($2::text) AND `+isPassage+` AND properties -> 'document' ->> 'externalId' = $2
		AND properties -> 'document' ->> 'id' = $3::text ORDER BY properties -> 'document' -> 'passage' -> 'index', id
		LIMIT $4`, workspace, externalID, document.String(), limit)
}

// DocumentList selects a page of the documents that pass a filter.
type DocumentList struct {
	Filter        retrieval.DocumentFilter
	Order         documentfilter.Order
	Limit, Offset int
}

// Documents lists the nodes of documents, without their passages and without other nodes that have a copy of
// their mark. It returns the total number of those that pass the filter.
func (db *Store) Documents(
	ctx context.Context, workspace uuid.UUID, list DocumentList,
) (nodes []graph.Node, total int64, err error) {
	w := &postgres.Where{}
	w.Add("d.workspace_id = ?", workspace)
	documentfilter.AddDocuments(w, &list.Filter) // without a filter, the index has all conditions, and counts
	from := ` FROM nodes d WHERE ` + w.Text()
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		count := tx.QueryRow(ctx, `SELECT count(*)`+from, postgres.WithCustomPlan(w.Args)...)
		if err := count.Scan(&total); err != nil {
			return err
		}
		page := fmt.Sprintf(` %s LIMIT %d OFFSET %d`, list.Order.OrderBy(), list.Limit, list.Offset)
		rows, err := tx.Query(ctx, `SELECT `+graphrow.NodeColumns+from+page, postgres.WithCustomPlan(w.Args)...)
		if err == nil {
			nodes, err = pgx.CollectRows(rows, graphrow.ScanNode)
		}
		return err
	})
	if err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("listing documents: %w", err))
	}
	return nodes, total, nil
}

// DocumentParts returns which of the nodes belong to documents.
func (db *Store) DocumentParts(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]retrieval.DocumentPart, error) {
	rows, err := db.pool.Query(ctx, `SELECT id, properties -> 'document' ->> 'id',
		properties -> 'document' -> 'passage' IS NOT NULL FROM nodes
		WHERE workspace_id = $1 AND id = ANY($2) AND `+isDocumentPart, workspace, postgres.IDArray(ids))
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the documents of nodes: %w", err))
	}
	parts := make(map[uuid.UUID]retrieval.DocumentPart, len(ids))
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var id pgtype.UUID
		var of *string // anyone can set properties
		var part retrieval.DocumentPart
		if err := row.Scan(&id, &of, &part.Passage); err != nil || of == nil {
			return struct{}{}, err
		}
		if parsed, err := uuid.Parse(*of); err == nil {
			part.Document = parsed
			parts[id.Bytes] = part
		}
		return struct{}{}, nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the documents of nodes: %w", err))
	}
	return parts, nil
}

// ReadMarks reads the ids and entity types of those of the nodes that are not deleted, and their property
// [document.Key], which may have any value, because anyone can set properties. The other fields are empty.
func (db *Store) ReadMarks(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]graph.Node, error) {
	nodes := make(map[uuid.UUID]graph.Node, len(ids))
	if len(ids) == 0 {
		return nodes, nil
	}
	rows, err := db.pool.Query(ctx, `SELECT id, entity_type, properties -> 'document' FROM nodes
		WHERE workspace_id = $1 AND id = ANY($2) AND NOT deleted`, workspace, postgres.IDArray(ids))
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the marks of nodes: %w", err))
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var id pgtype.UUID
		var n graph.Node
		var mark []byte
		if err := row.Scan(&id, &n.EntityType, &mark); err != nil {
			return struct{}{}, err
		}
		n.ID = id.Bytes
		if mark != nil {
			n.Properties = graph.Properties{document.Key: mark}
		}
		nodes[n.ID] = n
		return struct{}{}, nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the marks of nodes: %w", err))
	}
	return nodes, nil
}

// UsedNodeIDs returns those of the ids that a node has or had: deleted nodes keep theirs.
func (db *Store) UsedNodeIDs(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]struct{}, error) {
	rows, err := db.pool.Query(
		ctx, `SELECT id FROM nodes WHERE workspace_id = $1 AND id = ANY($2)`, workspace, postgres.IDArray(ids),
	)
	used := map[uuid.UUID]struct{}{}
	if err == nil {
		var list []uuid.UUID
		if list, err = pgx.CollectRows(rows, scanID); err == nil {
			for _, id := range list {
				used[id] = struct{}{}
			}
		}
	}
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the ids of nodes: %w", err))
	}
	return used, nil
}

func (db *Store) readDocuments(ctx context.Context, query string, args ...any) ([]graph.Node, error) {
	rows, err := db.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading documents: %w", err))
	}
	list, err := pgx.CollectRows(rows, graphrow.ScanNode)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading documents: %w", err))
	}
	return list, nil
}
