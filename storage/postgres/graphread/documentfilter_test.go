package graphread_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

// archive has documents and other nodes, with what the test knows about them.
type archive struct {
	nodes    map[uuid.UUID]graph.Node
	document map[uuid.UUID]uuid.UUID // node -> the document to which it belongs
	tags     map[uuid.UUID][]string  // of documents
	times    map[uuid.UUID]time.Time // of documents; absent: none
}

// marked returns a node with a mark in JSON.
func marked(r *rand.Rand, id uuid.UUID, mark string) graph.Node {
	properties, err := graph.ParseProperties([]byte(`{"document":` + mark + `,"k":` + []string{"1", "2"}[r.IntN(2)] + `}`))
	if err != nil {
		panic(err)
	}
	return graph.Node{
		ID: id, Name: "n", EntityType: graph.EntityType(graph.EntityTypes()[r.IntN(2)]), Properties: properties,
		Lifecycle: graph.Lifecycle{CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1, Deleted: r.IntN(6) == 0},
	}
}

// someTimes are close to each other, with fractions of different lengths.
var someTimes = []string{
	"2026-11-21T07:40:08Z", "2026-11-21T07:40:08.000001Z", "2026-11-21T07:40:08.1Z", "2026-11-21T07:40:08.10001Z",
	"2026-11-21T07:40:09Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
}

var someTags = []string{"a", "A", "b", `"`, "ü", "a b"}

// add adds a document with passages.
func (a *archive) add(r *rand.Rand, externalID string) {
	id := uuid.New()
	mark := fmt.Sprintf(`"id":%q,"externalId":%q,"title":"t"`, id, externalID)
	own := mark
	if count := r.IntN(4); count > 0 {
		own += `,"tags":[`
		for i := range count {
			tag := someTags[r.IntN(len(someTags))]
			a.tags[id] = append(a.tags[id], tag)
			own += []string{"", ","}[min(i, 1)] + fmt.Sprintf("%q", tag)
		}
		own += "]"
	}
	if r.IntN(4) > 0 {
		text := someTimes[r.IntN(len(someTimes))]
		own += fmt.Sprintf(`,"timestamp":%q`, text)
		a.times[id], _ = time.Parse(time.RFC3339Nano, text)
	}
	document := marked(r, id, "{"+own+"}")
	a.nodes[id] = document
	a.document[id] = id
	for index := range r.IntN(4) {
		passage := marked(r, uuid.New(), fmt.Sprintf(`{%s,"passage":{"index":%d,"from":0,"to":1}}`, mark, index))
		a.nodes[passage.ID] = passage
		if !document.Deleted {
			a.document[passage.ID] = id
		}
	}
}

// someArchive creates documents, and nodes whose marks are not those of documents: anyone can set properties.
func someArchive(r *rand.Rand, foreign uuid.UUID) *archive {
	a := &archive{
		nodes: map[uuid.UUID]graph.Node{}, document: map[uuid.UUID]uuid.UUID{}, tags: map[uuid.UUID][]string{},
		times: map[uuid.UUID]time.Time{},
	}
	for i := range 30 {
		a.add(r, fmt.Sprint("doc ", i))
	}
	const tail = `"externalId":"x","title":"t","tags":["a","b"],"timestamp":"2026-11-21T07:40:08Z"`
	first := slices.SortedFunc(maps.Keys(a.nodes), uuids.Compare)[0]
	for _, mark := range []string{
		`null`, `"a"`, `[]`, `{}`, `{` + tail + `}`, `{"id":7,` + tail + `}`, `{"id":"x",` + tail + `}`,
		`{"id":"` + uuid.NewString() + `",` + tail + `}`, `{"id":"` + first.String() + `",` + tail + `}`,
		`{"id":"` + foreign.String() + `","externalId":"theirs","passage":{"index":0}}`,
		`{"id":"` + foreign.String() + `","externalId":"theirs","tags":["a"]}`,
	} {
		n := marked(r, uuid.New(), mark)
		a.nodes[n.ID] = n
	}
	for document := range a.tags { // the same mark on another node does not make it a part of the document
		if node := a.nodes[document]; !node.Deleted {
			node.ID = uuid.New()
			a.nodes[node.ID] = node
			break
		}
	}
	id := uuid.New() // a document by its id, with tags and a timestamp that cannot be compared
	a.nodes[id] = marked(r, id, `{"id":"`+id.String()+`","externalId":"odd","tags":"a","timestamp":"2026-99"}`)
	a.document[id] = id
	return a
}

// passes reports whether a node passes a filter.
func (a *archive) passes(id uuid.UUID, f *retrieval.Filter) bool {
	n := a.nodes[id]
	if n.Deleted || len(f.EntityTypes) > 0 && !slices.Contains(f.EntityTypes, string(n.EntityType)) {
		return false
	}
	if values := f.Properties["k"]; len(values) > 0 && string(values[0]) != string(n.Properties["k"]) {
		return false
	}
	d := f.Document
	if d.IsEmpty() {
		return true
	}
	document, belongs := a.document[id]
	has := func(tag string) bool { return slices.Contains(a.tags[document], tag) }
	at, stamped := a.times[document]
	switch {
	case !belongs, len(d.IDs) > 0 && !slices.Contains(d.IDs, document):
		return false
	case len(d.AnyTags) > 0 && !slices.ContainsFunc(d.AnyTags, has):
		return false
	case slices.ContainsFunc(d.AllTags, func(tag string) bool { return !has(tag) }):
		return false
	case d.From != nil && (!stamped || at.Before(*d.From)), d.To != nil && (!stamped || !at.Before(*d.To)):
		return false
	}
	return true
}

// someDocumentFilter returns a filter, often by some of the ids, which are not all of documents.
func someDocumentFilter(r *rand.Rand, ids []uuid.UUID) (f retrieval.Filter) {
	tags := func() (list []string) {
		for range r.IntN(3) {
			list = append(list, someTags[r.IntN(len(someTags))])
		}
		return list
	}
	bound := func() *time.Time {
		if r.IntN(2) == 0 {
			return nil
		}
		at, _ := time.Parse(time.RFC3339Nano, someTimes[r.IntN(len(someTimes))])
		return pgtest.Ptr(at.Add(time.Duration(r.IntN(3)-1) * 500 * time.Nanosecond).In(time.FixedZone("", 3600)))
	}
	f.Document = retrieval.DocumentFilter{AnyTags: tags(), AllTags: tags(), From: bound(), To: bound()}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(len(ids)) {
			f.Document.IDs = append(f.Document.IDs, ids[r.IntN(len(ids))])
		}
	}
	if r.IntN(3) == 0 {
		f.EntityTypes = graph.EntityTypes()[:1]
	}
	if r.IntN(3) == 0 {
		f.Properties = map[string][]jsontext.Value{"k": {jsontext.Value("1")}}
	}
	return f
}

// TestFiltersOfDocumentsSelectTheirNodes compares all reads with a filter with what was inserted. Another workspace has
// documents with the same ids of passages' documents, tags and timestamps.
func TestFiltersOfDocumentsSelectTheirNodes(t *testing.T) {
	db := pgtest.Open(t)
	r := rand.New(rand.NewPCG(7, 8))
	other := pgtest.LimitedWorkspace(t, db, 1, 1)
	foreign := uuid.New()
	theirs := marked(r, foreign, `{"id":"`+foreign.String()+
		`","externalId":"theirs","tags":["a","b"],"timestamp":"2026-11-21T07:40:08Z"}`)
	theirs.Deleted = false
	pgtest.InsertNodes(t, db, other, []graph.Node{theirs})
	for range 3 {
		ws := pgtest.LimitedWorkspace(t, db, 1, 1)
		a := someArchive(r, foreign)
		pgtest.InsertNodes(t, db, ws, slices.Collect(maps.Values(a.nodes)))
		hub := graph.Node{ID: uuid.New(), Name: "hub", EntityType: graph.Concept, Lifecycle: graph.Lifecycle{Version: 1}}
		pgtest.InsertNodes(t, db, ws, []graph.Node{hub})
		var edges []graph.Edge
		for id := range a.nodes {
			edges = append(edges, graph.Edge{
				ID: uuid.New(), SourceID: hub.ID, TargetID: id, RelationType: "has", Lifecycle: graph.Lifecycle{Version: 1},
			})
		}
		pgtest.InsertEdges(t, db, ws, edges)
		ids := append(slices.Collect(maps.Keys(a.nodes)), foreign, uuid.New())
		for range 80 {
			f := someDocumentFilter(r, ids)
			if f.Document.IsEmpty() {
				continue
			}
			var want []uuid.UUID
			for id := range a.nodes {
				if a.passes(id, &f) {
					want = append(want, id)
				}
			}
			requireSelected(t, db, ws, hub.ID, ids, f, want)
		}
	}
}

// requireSelected requires that every read with a filter selects the same nodes.
func requireSelected(
	t *testing.T, db *pgtest.DB, ws, hub uuid.UUID, ids []uuid.UUID, f retrieval.Filter, want []uuid.UUID,
) {
	t.Helper()
	passing, err := db.FilterNodes(t.Context(), ws, ids, f)
	require.NoError(t, err)
	require.ElementsMatch(t, want, passing, "%+v", f)
	read, err := db.ReadNodes(t.Context(), ws, ids, f)
	require.NoError(t, err)
	require.ElementsMatch(t, want, slices.Collect(maps.Keys(read)))
	matching, more, err := db.MatchingNodes(t.Context(), ws, f, 1_000)
	require.NoError(t, err)
	require.False(t, more)
	require.ElementsMatch(t, want, matching, "%+v", f)
	matching, more, err = db.MatchingNodes(t.Context(), ws, f, 2)
	require.NoError(t, err)
	require.Equal(t, len(want) > 2, more)
	require.Len(t, matching, min(2, len(want)))
	require.Subset(t, want, matching)
	walked, err := db.WalkEdges(t.Context(), ws, retrieval.Step{
		Frontier: []uuid.UUID{hub}, Direction: retrieval.Outgoing, Filter: f, MaxPerNode: 1_000, Limit: 1_000,
	})
	require.NoError(t, err)
	var ends []uuid.UUID
	for _, link := range walked.Edges {
		ends = append(ends, link.Target)
	}
	require.ElementsMatch(t, want, ends)
}

// fillDocuments returns a database with many nodes, and documents with tags and timestamps. For each ten documents,
// another node has a copy of the mark of a document.
func fillDocuments(t *testing.T, documents int) *pgtest.DB {
	t.Helper()
	url := pgtest.Migrated(t)
	db := pgtest.OpenAt(t, url)
	pgtest.FillGraph(t, db, url, 20_000, 1_000)
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO nodes (workspace_id, id, name, entity_type, properties, created_at, updated_at, version, changed_by,
			created_by)
		SELECT $1, CASE WHEN i > $3 THEN gen_random_uuid() ELSE id END, 'd', 'object',
			jsonb_build_object('document', jsonb_build_object(
			'id', id, 'externalId', i::text, 'tags', jsonb_build_array('tag ' || i % 500),
			'timestamp', to_char($2::timestamptz + i * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))),
			$2::timestamptz + i * interval '1 second',
			$2::timestamptz + i % 1000 * interval '1 hour', 1, 1, 1
		FROM (SELECT gen_random_uuid() AS id, i FROM generate_series(1, $3 + $3 / 10) i) d`, pgtest.GraphWorkspace,
		pgtest.Epoch, documents))
	require.NoError(t, db.Exec(t.Context(), `ANALYZE nodes`))
	return db
}

func TestFiltersOfDocumentsReadNoWholeTable(t *testing.T) {
	db := fillDocuments(t, 3_000)
	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	at, later := pgtest.Epoch.AddDate(0, 1, 0), pgtest.Epoch.AddDate(0, 1, 1)
	ids := make([]uuid.UUID, 400)
	for i := range ids {
		ids[i] = uuid.New()
	}
	id := firstDocument(t, db)
	for _, f := range []retrieval.Filter{
		{Document: retrieval.DocumentFilter{AnyTags: []string{"tag 1", "tag 2"}, To: &at}},
		{Document: retrieval.DocumentFilter{AllTags: []string{"tag 1", "b"}}, EntityTypes: []string{"object"}},
		{Document: retrieval.DocumentFilter{From: &at, To: &later}},
		{
			Document:   retrieval.DocumentFilter{From: &at},
			Properties: map[string][]jsontext.Value{"serial": {jsontext.Value(`"SN-7"`)}},
		},
		{Document: retrieval.DocumentFilter{IDs: []uuid.UUID{id, uuid.New()}}},
		{
			Document:   retrieval.DocumentFilter{IDs: []uuid.UUID{id}, AllTags: []string{"tag 1"}},
			Properties: map[string][]jsontext.Value{"serial": {jsontext.Value(`"SN-7"`)}},
		},
	} {
		_, err = r.FilterNodes(t.Context(), pgtest.GraphWorkspace, ids, f)
		require.NoError(t, err)
		_, _, err = r.MatchingNodes(t.Context(), pgtest.GraphWorkspace, f, 5_000)
		require.NoError(t, err)
	}
	plans, err := r.Plans(t.Context(), db)
	require.NoError(t, err)
	require.Len(t, plans, 12)
	for _, plan := range plans {
		require.NotContains(t, plan, "Seq Scan", plan)
	}
	require.Contains(t, plans[5], "nodes_document_timestamp", plans[5])
	require.Contains(t, plans[5], "nodes_documents", plans[5])
	for _, plan := range []string{plans[9], plans[11]} { // a document by its id, and then its nodes
		require.Contains(t, plan, "nodes_pkey", plan)
		require.Contains(t, plan, "nodes_documents", plan)
	}
}

// firstDocument returns the id of a document.
func firstDocument(t *testing.T, db *pgtest.DB) uuid.UUID {
	t.Helper()
	list, _, err := db.Documents(t.Context(), pgtest.GraphWorkspace, graphread.DocumentList{Limit: 1})
	require.NoError(t, err)
	return list[0].ID
}
