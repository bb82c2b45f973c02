package graphstore_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.ReduceCases()
	os.Exit(m.Run())
}

var graphTopic = [16]byte{7}

// graphFixture is a database with workspaces, and a connection for queries on its tables.
type graphFixture struct {
	db         *pgtest.DB
	conn       *pgx.Conn
	nextOffset int64 // of the fence
}

func newGraphFixture(t testing.TB) *graphFixture {
	t.Helper()
	url := pgtest.Migrated(t)
	db, err := pgtest.Connect(context.Background(), url, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(context.Background()))
	conn, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	w := &graphFixture{db: db, conn: conn}
	_, _, err = db.ResolveCommandOffsets(context.Background(), func(context.Context) (postgres.LogState, error) {
		return postgres.LogState{TopicID: graphTopic, Partitions: []postgres.LogPartition{{ReplacedFrom: -1}}}, nil
	})
	require.NoError(t, err)
	return w
}

func (w *graphFixture) workspace(t require.TestingT) uuid.UUID {
	created, err := w.db.CreateWorkspace(context.Background(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live",
	})
	require.NoError(t, err)
	return created.ID
}

// begin begins a group of one offset.
func (w *graphFixture) begin(t require.TestingT, edges int, needs ...graphstore.Needs) *graphstore.Tx {
	tx, err := w.db.BeginGraphWith(context.Background(), graphstore.Group{
		TopicID: graphTopic, Offsets: []graphstore.Offset{{From: w.nextOffset, To: w.nextOffset + 1}}, Workspaces: needs,
	}, edges)
	require.NoError(t, err)
	return tx
}

func (w *graphFixture) commit(t require.TestingT, tx *graphstore.Tx) {
	require.NoError(t, tx.Commit())
	w.nextOffset++
}

// read reads a workspace's graph and journal from the tables.
func (w *graphFixture) read(t require.TestingT, workspace uuid.UUID) *graphtest.Memory {
	ctx := context.Background()
	m := graphtest.NewMemory()
	query := func(sql string, columns []any, f func() error) {
		rows, err := w.conn.Query(ctx, sql, workspace)
		require.NoError(t, err)
		_, err = pgx.ForEachRow(rows, columns, f)
		require.NoError(t, err)
	}
	var n graph.Node
	var e graph.Edge
	var taken *uuid.UUID
	var newest graph.Sequence
	var properties, stamps []byte
	scanLifecycle := func(l *graph.Lifecycle, p *graph.Properties) (err error) {
		l.CreatedAt, l.UpdatedAt, l.Stamps = l.CreatedAt.UTC(), l.UpdatedAt.UTC(), nil
		if stamps != nil {
			require.NoError(t, json.Unmarshal(stamps, &l.Stamps))
		}
		*p, err = graph.ReadProperties(jsontext.Value(properties))
		return err
	}
	const common = `properties::text, created_at, updated_at, version, changed_by, created_by, deleted, deleted_by,
		stamps::text, stamps_floor`
	fields := func(l *graph.Lifecycle) []any {
		return []any{
			&properties, &l.CreatedAt, &l.UpdatedAt, &l.Version, &l.ChangedBy, &l.CreatedBy, &l.Deleted, &l.DeletedBy, &stamps,
			&l.Floor,
		}
	}
	query(`SELECT id, name, entity_type, description, `+common+` FROM nodes WHERE workspace_id = $1`,
		append([]any{&n.ID, &n.Name, &n.EntityType, &n.Description}, fields(&n.Lifecycle)...), func() error {
			node := n
			m.Nodes[n.ID] = &node
			return scanLifecycle(&node.Lifecycle, &node.Properties)
		})
	query(`SELECT id, source_id, target_id, relation_type, newest, taken_sequence, taken_node, `+
		common+` FROM edges WHERE workspace_id = $1`,
		append(
			[]any{&e.ID, &e.SourceID, &e.TargetID, &e.RelationType, &newest, &e.Taken.Sequence, &taken}, fields(&e.Lifecycle)...,
		), func() error {
			edge := e
			if taken != nil {
				edge.Taken.Node = *taken
			}
			m.Edges[e.ID] = &edge
			err := scanLifecycle(&edge.Lifecycle, &edge.Properties)
			require.Equal(t, edge.Newest(), newest)
			return err
		})
	var encoded []byte
	query(`SELECT change FROM journal WHERE workspace_id = $1 ORDER BY sequence`, []any{&encoded}, func() error {
		c, err := graphrecord.DecodeChange(encoded)
		m.Journal = append(m.Journal, c)
		return err
	})
	var entry graph.Entry
	query(
		`SELECT sequence, command_id, actor_id, type, cancelled_by FROM undo_entries WHERE workspace_id = $1
			ORDER BY sequence`,
		[]any{&entry.Sequence, &entry.CommandID, &entry.Actor, &entry.Type, &entry.CancelledBy}, func() error {
			m.Entries = append(m.Entries, entry)
			return nil
		},
	)
	return m
}

// totals returns the rows of graph_totals that are not zero.
func (w *graphFixture) totals(t require.TestingT, workspace uuid.UUID) map[string]int64 {
	rows, err := w.conn.Query(
		context.Background(), `SELECT kind, label, standing FROM graph_totals WHERE workspace_id = $1`, workspace,
	)
	require.NoError(t, err)
	totals := map[string]int64{}
	var kind, standing int64
	var label string
	_, err = pgx.ForEachRow(rows, []any{&kind, &label, &standing}, func() error {
		if standing != 0 {
			totals[fmt.Sprint(kind, " ", label)] = standing
		}
		return nil
	})
	require.NoError(t, err)
	return totals
}

// countTotals computes the expected totals of a graph.
func countTotals(m *graphtest.Memory) map[string]int64 {
	totals := map[string]int64{}
	for _, n := range m.Nodes {
		if !n.Deleted {
			totals["1 "+string(n.EntityType)]++
		}
	}
	for _, e := range m.Edges {
		if !e.Deleted {
			totals["2 "+e.RelationType]++
		}
	}
	return totals
}

// requireMatches compares the tables of a workspace with a model.
func (w *graphFixture) requireMatches(t require.TestingT, workspace uuid.UUID, model *graphtest.Memory) {
	stored := w.read(t, workspace)
	require.Equal(t, model.Nodes, stored.Nodes)
	require.Equal(t, model.Edges, stored.Edges)
	require.Equal(t, model.Journal, stored.Journal)
	require.Equal(t, model.Entries, stored.Entries)
	require.Equal(t, countTotals(model), w.totals(t, workspace))
	var head int
	require.NoError(t, w.conn.QueryRow(context.Background(),
		`SELECT sequence FROM graph_heads WHERE workspace_id = $1`, workspace).Scan(&head))
	require.Equal(t, len(model.Journal), head)
	w.requireKeys(t, workspace, model)
}

// requireKeys compares the index of keys with the live nodes that have a property that was a key.
func (w *graphFixture) requireKeys(t require.TestingT, workspace uuid.UUID, model *graphtest.Memory) {
	ctx := context.Background()
	var properties, want []string
	require.NoError(t, w.conn.QueryRow(
		ctx, `SELECT key_properties FROM graph_heads WHERE workspace_id = $1`, workspace,
	).Scan(&properties))
	for _, n := range model.Nodes {
		for _, property := range properties {
			var text string
			value := n.Properties[property]
			switch {
			case n.Deleted || value == nil || value.Kind() != '"' && value.Kind() != '0':
				continue
			case value.Kind() == '"':
				require.NoError(t, json.Unmarshal(value, &text))
				text = "s" + text
			default:
				text = "n" + string(value)
			}
			digest := sha256.Sum256([]byte(string(n.EntityType) + "\x00" + property + "\x00" + text))
			want = append(want, fmt.Sprintf("%x %s", digest[:16], n.ID))
		}
	}
	rows, err := w.conn.Query(
		ctx, `SELECT encode(key, 'hex') || ' ' || node_id FROM node_keys WHERE workspace_id = $1`, workspace,
	)
	require.NoError(t, err)
	stored, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, want, stored)
}

// requireListTotals compares the totals of lists, whose parts are counted again only where
// something changed, with a count of all rows.
func (w *graphFixture) requireListTotals(t require.TestingT, workspace uuid.UUID) {
	ctx := context.Background()
	requireTotal := func(total int64, err error, table, condition string) {
		require.NoError(t, err)
		var want int64
		require.NoError(
			t,
			w.conn.QueryRow(
				ctx, `SELECT count(*) FROM `+table+` WHERE workspace_id = $1 AND NOT deleted AND `+condition, workspace,
			).Scan(&want),
		)
		require.Equal(t, want, total, "%s: %s", table, condition)
	}
	page := graphread.Page{Limit: 1}
	property := pgtest.PropertyFilter("a", "1")
	byName, err := w.db.Nodes(ctx, workspace, graphread.NodeFilter{Name: "x"}, page)
	requireTotal(byName.Total, err, "nodes", `name LIKE '%x%'`)
	byProperty, err := w.db.Nodes(
		ctx, workspace, graphread.NodeFilter{Filter: property, EntityTypes: []string{"object"}}, page,
	)
	requireTotal(byProperty.Total, err, "nodes", `properties @> '{"a":1}' AND entity_type = 'object'`)
	edges, err := w.db.Edges(ctx, workspace, graphread.EdgeFilter{Filter: property}, page)
	requireTotal(edges.Total, err, "edges", `properties @> '{"a":1}'`)
	typed, err := w.db.Edges(
		ctx, workspace, graphread.EdgeFilter{Filter: property, RelationTypes: []string{"x", "y"}}, page,
	)
	requireTotal(typed.Total, err, "edges", `properties @> '{"a":1}' AND relation_type IN ('x', 'y')`)
}
