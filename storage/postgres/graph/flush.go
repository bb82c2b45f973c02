package graphstore

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/storage/postgres"
)

// columns are rows of nodes or edges, by column, as arguments of unnest. Some columns are
// only of nodes, some only of edges.
type columns struct {
	workspaces, ids                postgres.UUIDs
	sources, targets               postgres.UUIDs
	names, labels                  []string // label: entity type or relation type
	descriptions                   []*string
	properties                     []string
	created, updated               []time.Time
	versions, changed, creators    []int64
	deleted                        []bool
	deletedBy                      []int64
	stamps                         []*string
	floors, newest, takenSequences []int64
	takenNodes                     postgres.UUIDs // null without a mark
}

func (c *columns) add(workspace, id uuid.UUID, label string, p graph.Properties, l *graph.Lifecycle) error {
	c.workspaces, c.ids = append(c.workspaces, postgres.UUID(workspace)), append(c.ids, postgres.UUID(id))
	c.labels = append(c.labels, label)
	c.properties = append(c.properties, string(p.Encode()))
	c.created, c.updated = append(c.created, micros(l.CreatedAt)), append(c.updated, micros(l.UpdatedAt))
	c.versions, c.changed = append(c.versions, l.Version), append(c.changed, int64(l.ChangedBy))
	c.creators = append(c.creators, int64(l.CreatedBy))
	c.deleted, c.deletedBy = append(c.deleted, l.Deleted), append(c.deletedBy, int64(l.DeletedBy))
	c.floors = append(c.floors, int64(l.Floor))
	var stamps *string
	if len(l.Stamps) > 0 {
		encoded, err := json.Marshal(l.Stamps)
		if err != nil {
			return fmt.Errorf("encoding stamps: %w", err)
		}
		text := string(encoded)
		stamps = &text
	}
	c.stamps = append(c.stamps, stamps)
	return nil
}

func (c *columns) addNode(workspace uuid.UUID, n *graph.Node) error {
	c.names, c.descriptions = append(c.names, n.Name), append(c.descriptions, n.Description)
	return c.add(workspace, n.ID, string(n.EntityType), n.Properties, &n.Lifecycle)
}

func (c *columns) addEdge(workspace uuid.UUID, e *graph.Edge) error {
	c.sources, c.targets = append(c.sources, postgres.UUID(e.SourceID)), append(c.targets, postgres.UUID(e.TargetID))
	c.newest = append(c.newest, int64(e.Newest()))
	c.takenSequences = append(c.takenSequences, int64(e.Taken.Sequence))
	c.takenNodes = append(c.takenNodes, pgtype.UUID{Bytes: e.Taken.Node, Valid: e.Taken.Sequence != 0})
	return c.add(workspace, e.ID, e.RelationType, e.Properties, &e.Lifecycle)
}

func (c *columns) nodeArgs() []any {
	return []any{
		c.workspaces, c.ids, c.names, c.labels, c.descriptions, c.properties, c.created, c.updated, c.versions, c.changed,
		c.creators,
		c.deleted, c.deletedBy, c.stamps, c.floors,
	}
}

func (c *columns) edgeArgs() []any {
	return []any{
		c.workspaces, c.ids, c.sources, c.targets, c.labels, c.properties, c.created, c.updated, c.versions, c.changed,
		c.creators,
		c.deleted, c.deletedBy, c.stamps, c.floors, c.newest, c.takenSequences, c.takenNodes,
	}
}

const (
	nodeArrays = `unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
		$7::timestamptz[], $8::timestamptz[],
		$9::bigint[], $10::bigint[], $11::bigint[], $12::boolean[], $13::bigint[], $14::text[], $15::bigint[])
		AS t (workspace_id, id, name, entity_type, description, properties, created_at, updated_at,
		version, changed_by, created_by, deleted, deleted_by, stamps, stamps_floor)`
	insertNodes = `INSERT INTO nodes (workspace_id, id, name, entity_type, description, properties, created_at, updated_at,
		version, changed_by, created_by, deleted, deleted_by, stamps, stamps_floor)
		SELECT workspace_id, id, name, entity_type, description, properties::jsonb, created_at, updated_at,
		version, changed_by, created_by, deleted, deleted_by, stamps::jsonb, stamps_floor FROM ` + nodeArrays
	updateNodes = `UPDATE nodes n SET name = t.name, entity_type = t.entity_type, description = t.description,
		properties = t.properties::jsonb, updated_at = t.updated_at, version = t.version, changed_by = t.changed_by,
		deleted = t.deleted, deleted_by = t.deleted_by, stamps = t.stamps::jsonb, stamps_floor = t.stamps_floor
		FROM ` + nodeArrays + ` WHERE n.workspace_id = t.workspace_id AND n.id = t.id`

	edgeArrays = `unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[],
		$7::timestamptz[], $8::timestamptz[],
		$9::bigint[], $10::bigint[], $11::bigint[], $12::boolean[], $13::bigint[], $14::text[], $15::bigint[], $16::bigint[],
		$17::bigint[], $18::uuid[])
		AS t (workspace_id, id, source_id, target_id, relation_type, properties, created_at, updated_at,
		version, changed_by, created_by, deleted, deleted_by, stamps, stamps_floor, newest, taken_sequence, taken_node)`
	insertEdges = `INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, properties, created_at,
		updated_at,
		version, changed_by, created_by, deleted, deleted_by, stamps, stamps_floor, newest, taken_sequence, taken_node)
		SELECT workspace_id, id, source_id, target_id, relation_type, properties::jsonb, created_at, updated_at,
		version, changed_by, created_by, deleted, deleted_by, stamps::jsonb, stamps_floor, newest, taken_sequence, taken_node
		FROM ` + edgeArrays
	updateEdges = `UPDATE edges e SET relation_type = t.relation_type, properties = t.properties::jsonb,
		updated_at = t.updated_at,
		version = t.version, changed_by = t.changed_by, deleted = t.deleted, deleted_by = t.deleted_by,
		stamps = t.stamps::jsonb,
		stamps_floor = t.stamps_floor, newest = t.newest, taken_sequence = t.taken_sequence, taken_node = t.taken_node
		FROM ` + edgeArrays + ` WHERE e.workspace_id = t.workspace_id AND e.id = t.id`

	addTotals = `INSERT INTO graph_totals AS t (workspace_id, kind, label, standing)
		SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::bigint[])
		ON CONFLICT (workspace_id, kind, label) DO UPDATE SET standing = t.standing + excluded.standing`
)

// total is the key of a row of graph_totals.
type total struct {
	workspace uuid.UUID
	kind      graph.Kind
	label     string
}

func (tx *Tx) queueRows(b *pgx.Batch, rowErr *error) { queueStateRows(b, tx.order, rowErr) }

// queueStateRows queues the statements that write the changed rows of states, and marks the
// rows as written. It sets rowErr if a row cannot be encoded. When the batch is sent, rowErr
// is set if fewer rows were written than queued.
func queueStateRows(b *pgx.Batch, states []*State, rowErr *error) {
	var newNodes, oldNodes, newEdges, oldEdges columns
	var newKeys, oldKeys keyColumns
	totals := map[total]int64{}
	recordErr := func(err error) {
		if err != nil && *rowErr == nil {
			*rowErr = err
		}
	}
	for _, s := range states {
		for _, id := range dirtyInOrder(s.nodes) {
			row := s.nodes[id]
			dst := &oldNodes
			if row.stored == nil {
				dst = &newNodes
			}
			recordErr(dst.addNode(s.workspace, row.now))
			countNode(totals, s.workspace, row)
			s.keys.addKeyChanges(&newKeys, &oldKeys, s.workspace, row)
			s.putNode(id, nodeRow{row.now, row.now})
		}
		for _, id := range dirtyInOrder(s.edges) {
			row := s.edges[id]
			dst := &oldEdges
			if row.stored == nil {
				dst = &newEdges
			}
			recordErr(dst.addEdge(s.workspace, row.now))
			countEdge(totals, s.workspace, row)
			s.putEdge(id, edgeRow{row.now, row.now})
		}
	}
	queueColumns(b, insertNodes, newNodes.nodeArgs(), len(newNodes.ids), recordErr)
	queueColumns(b, updateNodes, oldNodes.nodeArgs(), len(oldNodes.ids), recordErr)
	queueKeys(b, &newKeys, &oldKeys)
	queueColumns(b, insertEdges, newEdges.edgeArgs(), len(newEdges.ids), recordErr)
	queueColumns(b, updateEdges, oldEdges.edgeArgs(), len(oldEdges.ids), recordErr)
	queueTotals(b, totals)
}

// dirtyInOrder returns the ids of the changed rows, sorted. Ids that the service generates are
// in the order of time, so new rows and index entries are appended after the existing ones.
func dirtyInOrder[R interface{ dirty() bool }](rows map[uuid.UUID]R) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(rows))
	for id, row := range rows {
		if row.dirty() {
			ids = append(ids, id)
		}
	}
	uuids.Sort(ids)
	return ids
}

func queueColumns(b *pgx.Batch, statement string, args []any, rows int, recordErr func(error)) {
	if rows == 0 {
		return
	}
	b.Queue(statement, args...).Exec(func(tag postgres.CommandTag) error {
		if n := tag.RowsAffected(); n != int64(rows) {
			recordErr(fmt.Errorf("%d rows of the graph were to be written and %d were", rows, n))
		}
		return nil
	})
}

func countNode(totals map[total]int64, workspace uuid.UUID, row nodeRow) {
	if row.stored != nil && !row.stored.Deleted {
		totals[total{workspace, graph.KindNode, string(row.stored.EntityType)}]--
	}
	if !row.now.Deleted {
		totals[total{workspace, graph.KindNode, string(row.now.EntityType)}]++
	}
}

func countEdge(totals map[total]int64, workspace uuid.UUID, row edgeRow) {
	if row.stored != nil && !row.stored.Deleted {
		totals[total{workspace, graph.KindEdge, row.stored.RelationType}]--
	}
	if !row.now.Deleted {
		totals[total{workspace, graph.KindEdge, row.now.RelationType}]++
	}
}

func queueTotals(b *pgx.Batch, totals map[total]int64) {
	var (
		workspaces postgres.UUIDs
		kinds      []int16
		labels     []string
		counts     []int64
	)
	for t, n := range totals {
		if n != 0 {
			workspaces, kinds = append(workspaces, postgres.UUID(t.workspace)), append(kinds, int16(t.kind))
			labels, counts = append(labels, t.label), append(counts, n)
		}
	}
	if len(counts) > 0 {
		b.Queue(addTotals, workspaces, kinds, labels, counts)
	}
}
