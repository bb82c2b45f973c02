package textindex

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/retrieval/links"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/linkstore"
)

// linkNameRows are rows of link_names, as columns.
type linkNameRows struct {
	ids              postgres.IDList
	keys             []string
	aliases, capital []bool
}

func (r *linkNameRows) add(workspace, node uuid.UUID, name links.Name) {
	r.ids.Add(workspace, []uuid.UUID{node}, nil)
	r.keys, r.aliases, r.capital = append(r.keys, name.Key), append(r.aliases, name.Alias), append(r.capital, name.Capital)
}

// linkRows are what a batch of the text index writes to the tables of links.
type linkRows struct {
	known          map[NodeRef]map[string]links.Name // the names of the nodes of the batch before it
	added, removed linkNameRows
	changedKeys    linkNameRows
	changed        postgres.IDList // nodes whose text changed
	isDocument     []bool          // of changed
}

// readLinkNames reads the names of nodes.
func (p *lexicalBatch) readLinkNames(ctx context.Context, nodes postgres.IDList) error {
	p.links.known = map[NodeRef]map[string]links.Name{}
	rows, err := p.tx.Query(ctx, `SELECT n.workspace_id, n.node_id, n.key, n.alias, n.capital FROM link_names n
		JOIN unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id) ON n.workspace_id = t.workspace_id AND n.node_id = t.id`,
		nodes.Workspaces, nodes.IDs)
	if err != nil {
		return fmt.Errorf("reading the names of nodes: %w", err)
	}
	var workspace, node pgtype.UUID
	var name links.Name
	_, err = pgx.ForEachRow(rows, []any{&workspace, &node, &name.Key, &name.Alias, &name.Capital}, func() error {
		ref := NodeRef{workspace.Bytes, node.Bytes}
		if p.links.known[ref] == nil {
			p.links.known[ref] = map[string]links.Name{}
		}
		p.links.known[ref][name.Key] = name
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the names of nodes: %w", err)
	}
	return nil
}

// stageLinks adds the changes of a node's names to the batch, and queues the node.
func (p *lexicalBatch) stageLinks(n *lexicalNode) {
	node := graph.Node{ID: n.id, Name: n.name, Properties: n.properties}
	before := p.links.known[NodeRef{n.workspace, n.id}]
	var now []links.Name
	if n.live {
		now = links.NamesOf(&node)
		p.links.changed.Add(n.workspace, []uuid.UUID{n.id}, nil)
		p.links.isDocument = append(p.links.isDocument, document.MarkOf(&node) != nil)
	}
	kept, unchanged := map[string]bool{}, len(p.links.changedKeys.keys)
	for _, name := range now {
		kept[name.Key] = true
		if old, known := before[name.Key]; !known || old != name {
			p.links.added.add(n.workspace, n.id, name)
			p.links.changedKeys.add(n.workspace, n.id, name)
		}
	}
	for key, name := range before {
		if !kept[key] {
			p.links.removed.add(n.workspace, n.id, name)
			p.links.changedKeys.add(n.workspace, n.id, name)
		}
	}
	if len(p.links.changedKeys.keys) == unchanged {
		return
	}
	for _, name := range now { // a short name means the node where texts have its explanation, which may be another one
		if name.Alias {
			p.links.changedKeys.add(n.workspace, n.id, name)
		}
	}
}

// hasDocuments is the condition that a workspace w has documents.
const hasDocuments = `EXISTS (SELECT FROM nodes d WHERE d.workspace_id = w.id
	AND d.properties -> 'document' ->> 'externalId' IS NOT NULL AND NOT d.deleted)`

const (
	insertLinkNames = `INSERT INTO link_names (workspace_id, key, node_id, alias, capital)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::boolean[], $5::boolean[])
		ON CONFLICT (workspace_id, key, node_id) DO UPDATE SET alias = excluded.alias, capital = excluded.capital`
	deleteLinkNames = `DELETE FROM link_names n
		USING unnest($1::uuid[], $2::text[], $3::uuid[]) AS t (workspace_id, key, id)
		WHERE n.workspace_id = t.workspace_id AND n.key = t.key AND n.node_id = t.id`
	queueLinkKeys = `INSERT INTO link_keys (workspace_id, key)
		SELECT DISTINCT t.workspace_id, t.key FROM unnest($1::uuid[], $2::text[]) AS t (workspace_id, key)
		JOIN workspaces w ON w.id = t.workspace_id AND (w.links = 'all' OR w.links = 'documents' AND ` + hasDocuments + `)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING`
	queueLinkNodes = `INSERT INTO link_nodes AS l (workspace_id, node_id)
		SELECT t.workspace_id, t.id FROM unnest($1::uuid[], $2::uuid[], $3::boolean[]) AS t (workspace_id, id, is_document)
		JOIN workspaces w ON w.id = t.workspace_id AND (w.links = 'all' OR w.links = 'documents' AND t.is_document)
		ORDER BY 1, 2 ` + linkstore.OrQueueAgain
)

// queueLinks queues the statements of the tables of links.
func (p *lexicalBatch) queueLinks(batch *pgx.Batch) {
	l := &p.links
	if len(l.removed.keys) > 0 {
		batch.Queue(deleteLinkNames, l.removed.ids.Workspaces, l.removed.keys, l.removed.ids.IDs)
	}
	if len(l.added.keys) > 0 {
		batch.Queue(
			insertLinkNames, l.added.ids.Workspaces, l.added.keys, l.added.ids.IDs, l.added.aliases, l.added.capital,
		)
	}
	if len(l.changedKeys.keys) > 0 {
		batch.Queue(queueLinkKeys, l.changedKeys.ids.Workspaces, l.changedKeys.keys)
	}
	if len(l.changed.IDs) > 0 {
		batch.Queue(queueLinkNodes, l.changed.Workspaces, l.changed.IDs, l.isDocument)
	}
}
