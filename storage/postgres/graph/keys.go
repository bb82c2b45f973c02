package graphstore

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/storage/postgres"
)

// maxReadMatches is the number of nodes with a key, and of edges between two nodes, that are
// read. Upserts need one, and refuse several.
const maxReadMatches = 3

const (
	selectKeyNodes = `SELECT t.n, ` + nodeColumns + ` FROM unnest($1::uuid[], $2::bytea[])
		WITH ORDINALITY AS t (workspace_id, key, n)
		CROSS JOIN LATERAL (SELECT k.node_id FROM node_keys k WHERE k.workspace_id = t.workspace_id AND k.key = t.key
			ORDER BY k.node_id LIMIT $3) k
		JOIN nodes n ON n.workspace_id = t.workspace_id AND n.id = k.node_id ORDER BY t.n, n.id`
	insertKeys = `INSERT INTO node_keys (workspace_id, key, node_id)
		SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::uuid[]) ON CONFLICT DO NOTHING`
	deleteKeys = `DELETE FROM node_keys k
		USING unnest($1::uuid[], $2::bytea[], $3::uuid[]) AS t (workspace_id, key, node_id)
		WHERE k.workspace_id = t.workspace_id AND k.key = t.key AND k.node_id = t.node_id`

	// fillKeys adds the nodes with a property. Its digests are those of keyDigest.
	fillKeys = `INSERT INTO node_keys (workspace_id, key, node_id)
		SELECT $1, substr(sha256(convert_to(v.entity_type, 'UTF8') || '\x00' || convert_to($2, 'UTF8') || '\x00' ||
			convert_to(CASE v.type WHEN 'string' THEN 's' ELSE 'n' END || v.text, 'UTF8')), 1, 16), v.id
		FROM (SELECT n.id, n.entity_type, jsonb_typeof(n.properties -> $2) AS type, n.properties ->> $2 AS text
			FROM nodes n WHERE n.workspace_id = $1 AND NOT n.deleted) v
		WHERE v.type IN ('string', 'number')`
	addKeyProperty = `UPDATE graph_heads SET key_properties = key_properties || $2::text WHERE workspace_id = $1`
	countNodes     = `SELECT coalesce(sum(standing), 0)::bigint FROM graph_totals WHERE workspace_id = $1 AND kind = 1`
)

// keyDigest returns the digest under which a key is stored.
func keyDigest(key graph.NodeKey) []byte {
	kind, text := "n", key.Value
	if value := jsontext.Value(key.Value); value.Kind() == '"' {
		unquoted, _ := jsontext.AppendUnquote(nil, value) // canonical JSON
		kind, text = "s", string(unquoted)
	}
	sum := sha256.Sum256([]byte(string(key.EntityType) + "\x00" + key.Property + "\x00" + kind + text))
	return sum[:16]
}

// keyState has the nodes of a workspace by their keys.
type keyState struct {
	properties map[string]struct{} // of graph_heads.key_properties
	// read has the nodes with a key as read from node_keys: the first ones by their ids.
	read map[graph.NodeKey]firstRows
	// memory has the nodes that have, or had, a key in memory.
	memory map[graph.NodeKey]map[uuid.UUID]struct{}
}

func newKeyState() keyState {
	return keyState{
		properties: map[string]struct{}{}, read: map[graph.NodeKey]firstRows{},
		memory: map[graph.NodeKey]map[uuid.UUID]struct{}{},
	}
}

// keysOf returns the keys of a node that are stored; none for nil.
func (k *keyState) keysOf(n *graph.Node) map[graph.NodeKey]struct{} {
	if len(k.properties) == 0 || n == nil || n.Deleted {
		return nil
	}
	keys := map[graph.NodeKey]struct{}{}
	for property := range k.properties {
		if value := n.Properties[property]; graph.IsKeyValue(value) {
			keys[graph.NodeKey{EntityType: n.EntityType, Property: property, Value: string(value)}] = struct{}{}
		}
	}
	return keys
}

// remember adds a node in memory.
func (k *keyState) remember(n *graph.Node) {
	for key := range k.keysOf(n) {
		if k.memory[key] == nil {
			k.memory[key] = map[uuid.UUID]struct{}{}
		}
		k.memory[key][n.ID] = struct{}{}
	}
}

// NodesByKey implements graph.Resources.
func (s *State) NodesByKey(key graph.NodeKey, limit int) ([]*graph.Node, error) {
	if err := s.ensureKeyProperty(key.Property); err != nil {
		return nil, err
	}
	limit = min(limit, maxReadMatches)
	read, known := s.keys.read[key]
	for {
		if !known {
			var err error
			if read, err = s.readKey(key); err != nil {
				return nil, err
			}
		}
		found, err := s.matches(key, read.ids)
		if err != nil {
			return nil, err
		}
		if read.complete || len(found) >= limit {
			return s.withMemory(key, found, limit), nil
		}
		// Some of the first nodes in the database were changed in memory: there may be others.
		if err := s.flush(); err != nil {
			return nil, err
		}
		known = false
	}
}

// withMemory adds the nodes in memory to those found by reading a key, all in the order of their ids.
func (s *State) withMemory(key graph.NodeKey, found []*graph.Node, limit int) []*graph.Node {
	for id := range s.keys.memory[key] {
		n := s.nodes[id].now
		if n != nil && key.Matches(n) && !slices.ContainsFunc(found, func(f *graph.Node) bool { return f.ID == id }) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b *graph.Node) int { return uuids.Compare(a.ID, b.ID) })
	return found[:min(limit, len(found))]
}

// matches returns those of the nodes that have a key now.
func (s *State) matches(key graph.NodeKey, ids []uuid.UUID) ([]*graph.Node, error) {
	var found []*graph.Node
	for _, id := range ids {
		n, err := s.Node(id)
		if err != nil {
			return nil, err
		}
		if n != nil && key.Matches(n) {
			found = append(found, n)
		}
	}
	return found, nil
}

// readKey reads the nodes with a key from the database.
func (s *State) readKey(key graph.NodeKey) (firstRows, error) {
	list := keyList{{s, key}}
	b := &pgx.Batch{}
	found := make([]firstRows, 1)
	list.queue(b, s.tx, found)
	if err := s.tx.conn.send(s.tx.ctx, b); err != nil {
		return firstRows{}, fmt.Errorf("reading the nodes with a key: %w", err)
	}
	s.setReadKey(key, found[0])
	return found[0], nil
}

// keyList are keys to read.
type keyList []neededKey

type neededKey struct {
	state *State
	key   graph.NodeKey
}

// queue queues the statement that reads the nodes with the keys. When the batch is sent, found
// has those of each key.
func (l keyList) queue(b *pgx.Batch, tx *Tx, found []firstRows) {
	workspaces, digests := make(postgres.UUIDs, len(l)), make([][]byte, len(l))
	for i, k := range l {
		workspaces[i], digests[i] = postgres.UUID(k.state.workspace), keyDigest(k.key)
	}
	b.Queue(selectKeyNodes, workspaces, digests, maxReadMatches).Query(func(rows pgx.Rows) error {
		var n int64
		err := eachNode(rows, func(workspace uuid.UUID, node *graph.Node) {
			tx.states[workspace].readNode(node.ID, nodeRow{node, node})
			found[n-1].ids = append(found[n-1].ids, node.ID)
		}, &n)
		for i := range found {
			found[i].complete = len(found[i].ids) < maxReadMatches
		}
		return err
	})
}

// useRead stores the nodes that were read with the keys, except for properties whose nodes are
// not in node_keys yet.
func (l keyList) useRead(found []firstRows) {
	for i, k := range l {
		if _, ok := k.state.keys.properties[k.key.Property]; ok {
			k.state.setReadKey(k.key, found[i])
		}
	}
}

// ensureKeyProperty stores the nodes with a property in node_keys, if it was never a key before.
// It returns ErrManyNodes if the nodes are too many for the group.
func (s *State) ensureKeyProperty(property string) error {
	if _, ok := s.keys.properties[property]; ok {
		return nil
	}
	if len(s.keys.properties) >= graph.MaxKeyProperties {
		return graph.TooManyKeyProperties(slices.Sorted(maps.Keys(s.keys.properties)))
	}
	if err := s.checkNodeLimit(); err != nil {
		return err
	}
	if err := s.ensureSavepoint(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(fillKeys, s.workspace, property)
	b.Queue(addKeyProperty, s.workspace, property)
	if err := s.tx.conn.send(s.tx.ctx, b); err != nil {
		return fmt.Errorf("adding the nodes with property %q to the index of keys: %w", property, err)
	}
	s.keys.properties[property] = struct{}{}
	if s.savepoint != nil {
		s.savepoint.keyProperties = append(s.savepoint.keyProperties, property)
	}
	for _, row := range s.nodes {
		s.keys.remember(row.now)
	}
	return nil
}

// checkNodeLimit returns ErrManyNodes if the workspace has more nodes than Group.CascadeEdges.
func (s *State) checkNodeLimit() error {
	if s.tx.maxCascadeEdges == 0 {
		return nil
	}
	var nodes int64
	if err := s.tx.conn.QueryRow(s.tx.ctx, countNodes, s.workspace).Scan(&nodes); err != nil {
		return fmt.Errorf("counting the nodes: %w", err)
	}
	if nodes > int64(s.tx.maxCascadeEdges) {
		return ErrManyNodes
	}
	return nil
}

// keyColumns are rows of node_keys, by column.
type keyColumns struct {
	workspaces postgres.UUIDs
	digests    [][]byte
	nodes      postgres.UUIDs
}

func (c *keyColumns) add(workspace uuid.UUID, key graph.NodeKey, node uuid.UUID) {
	c.workspaces, c.nodes = append(c.workspaces, postgres.UUID(workspace)), append(c.nodes, postgres.UUID(node))
	c.digests = append(c.digests, keyDigest(key))
}

func queueKeys(b *pgx.Batch, added, removed *keyColumns) {
	if len(removed.nodes) > 0 {
		b.Queue(deleteKeys, removed.args()...)
	}
	if len(added.nodes) > 0 {
		b.Queue(insertKeys, added.args()...)
	}
}

func (c *keyColumns) args() []any { return []any{c.workspaces, c.digests, c.nodes} }

// addKeyChanges adds the keys that a node got or lost since it was stored.
func (k *keyState) addKeyChanges(added, removed *keyColumns, workspace uuid.UUID, row nodeRow) {
	if len(k.properties) == 0 {
		return
	}
	before, after := k.keysOf(row.stored), k.keysOf(row.now)
	for key := range after {
		if _, ok := before[key]; !ok {
			added.add(workspace, key, row.now.ID)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			removed.add(workspace, key, row.now.ID)
		}
	}
}
