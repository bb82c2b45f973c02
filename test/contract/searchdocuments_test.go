package contract_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

func TestSearchesAreRestrictedToDocuments(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	other := s.NewWorkspace(t, apikey.Live)
	theirKey := s.NewKey(t, []uuid.UUID{other}, request.Admin)
	neighbor := s.createFiltered(t)
	theirs := s.createTheirs(t, other.String(), theirKey)
	id := func(externalID string) string { return `"` + s.document(t, externalID).ID + `"` }
	long, short, undated := id("long"), id("short"), id("undated")
	unknown := `"` + uuid.NewString() + `"`
	passage := `"` + s.document(t, "long").Passages[0].ID + `"`

	for documents, want := range map[string][]string{
		long: {"long"}, short + "," + undated: {"short", "undated"}, strings.ToUpper(short): {"short"},
		short + "," + short: {"short"}, id("many 7"): {"many 7"}, unknown: nil, `"` + theirs + `"`: nil,
		`"` + theirs + `",` + undated: {"undated"}, unknown + "," + long: {"long"},
		`"` + neighbor + `"`: nil, passage: nil, // neither is a document
		short + strings.Repeat(","+unknown, 99): {"short"},
	} {
		s.requireDocuments(t, `"documents":[`+documents+`]`, want...)
	}
	both := `"documents":[` + long + "," + short + `],`
	for members, want := range map[string][]string{
		`"tags":["rare"]`: {"long", "short"}, `"allTags":["rare","north"]`: {"long"}, `"tags":["many"]`: nil,
		`"timestamp":{"from":"2026-02-01T01:00:00Z"}`: {"short"}, `"entityTypes":["process"]`: nil,
		`"properties":{"site":"north"}`: nil, `"groupBy":"document"`: {"long", "short"},
	} {
		s.requireDocuments(t, both+members, want...)
	}
	s.requireRestrictedLanes(t, long, neighbor)
	s.requireRestrictedAnswers(t, short, unknown)
	s.requireRestrictedFacets(t, long)
	s.requireRestrictedRuns(t, long, short)

	// What the workspace of the other document finds does not depend on it, either.
	s.searchUntil(t, contract.Request{
		Path: searchPath, Body: `{"query":"pump","documents":["` + theirs + `"]}`, Key: theirKey, Workspace: other.String(),
	}, func(names []string) bool { return len(names) == 1 })
	s.requireDeletedDocument(t, short)
}

// createTheirs creates a document of another workspace and returns its id.
func (s *searcher) createTheirs(t *testing.T, workspace, key string) string {
	t.Helper()
	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: documentsPath, Workspace: workspace, Key: key,
		Body: `{"documents":[{"externalId":"theirs","text":"Their pump."}]}`,
	})
	created := decode[struct{ Documents []struct{ ID string } }](t, a, http.StatusAccepted)
	return created.Documents[0].ID
}

// requireRestrictedLanes requires that each lane ranks only the nodes of a document, which 300 other documents match
// better, and that the traversal does not leave it.
func (s *searcher) requireRestrictedLanes(t *testing.T, document, neighbor string) {
	t.Helper()
	d := s.document(t, "long")
	for weights, nodes := range map[string]int{
		`{"text":1,"vector":0,"graph":0}`: d.PassageCount, // the word is in each passage, but not in the title
		`{"text":0,"vector":1,"graph":0}`: 1 + d.PassageCount,
	} {
		hits := s.searchWhole(t, hybridPath, fmt.Sprintf(
			`{"query":"pump","limit":100,"documents":[%s],"hops":0,"weights":%s}`, document, weights,
		))
		documents, others := found(hits)
		require.Equal(t, []string{"long"}, documents, weights)
		require.Zero(t, others)
		require.Len(t, hits, nodes, weights)
	}
	for _, members := range []string{`"hops":3`, `"weights":{"text":0,"vector":0}`} {
		documents, others := found(s.search(t, hybridPath, fmt.Sprintf(
			`{"query":"pump","limit":100,"documents":[%s],%s,"nodeIds":["%s","%s"]}`, document, members, neighbor,
			s.document(t, "many 1").ID,
		)))
		require.Equal(t, []string{"long"}, documents, members)
		require.Zero(t, others)
	}
}

// requireRestrictedAnswers requires that an answer quotes only a document.
func (s *searcher) requireRestrictedAnswers(t *testing.T, short, unknown string) {
	t.Helper()
	body := `{"query":"what has a pump?","maxSentences":10,"documents":[` + short + `]}`
	answered, _ := s.ask(t, contract.Request{Body: body})
	require.NotEmpty(t, answered.Citations)
	for _, c := range answered.Citations {
		require.Equal(t, "short", c.Document.ExternalID)
	}
	answered, _ = s.ask(t, contract.Request{Body: `{"query":"what has a pump?","documents":[` + unknown + `]}`})
	require.Nil(t, answered.Answer)
	require.Empty(t, answered.Citations)
}

// requireRestrictedFacets requires that facets count the nodes of a document.
func (s *searcher) requireRestrictedFacets(t *testing.T, document string) {
	t.Helper()
	nodes := 1 + s.document(t, "long").PassageCount
	for _, path := range []string{searchPath, hybridPath} {
		total, facets := s.facetsOf(t, path, `"documents":[`+document+`],"facets":["tags","timestamp"]`)
		require.Equal(t, nodes, total)
		counts := map[string]int{}
		for _, v := range facets["tags"].Values {
			counts[v.Value] = v.Count
		}
		require.Equal(t, map[string]int{"rare": nodes, "north": nodes}, counts)
		require.Zero(t, facets["timestamp"].Missing)
	}
}

// requireRestrictedRuns saves a query of a document, and runs it with another.
func (s *searcher) requireRestrictedRuns(t *testing.T, long, short string) {
	t.Helper()
	body := `{"query":"pump","limit":100,"documents":[` + long + `]}`
	saved := save(t, s.Server, `{"name":"inside","kind":"hybrid-search","request":`+body+`}`)
	require.JSONEq(t, body, string(saved.Request))
	for overrides, want := range map[string][]string{
		``: {"long"}, `{"documents":[` + short + `]}`: {"short"}, `{"tags":["south"]}`: nil,
	} {
		documents, _ := found(s.searchAs(t, contract.Request{Path: savedPath + "/" + saved.ID + "/run", Body: overrides}))
		require.Equal(t, want, documents, overrides)
	}
	s.Do(t, contract.Request{
		Method: http.MethodPost, Path: savedPath + "/" + saved.ID + "/run", Body: `{"documents":[]}`,
	}).RequireFailure(t, 422, validation, "", map[string]any{"field": "documents"})
	trySave(t, s.Server, `{"name":"bad","kind":"answer","request":{"query":"a","documents":["a"]}}`).RequireFailure(
		t, 422, validation, "", map[string]any{"field": "request.documents[0]"},
	)
}

// requireDeletedDocument requires that a deleted document matches nothing, and matches again when it is restored.
func (s *searcher) requireDeletedDocument(t *testing.T, short string) {
	t.Helper()
	a := s.Do(t, contract.Request{Method: http.MethodDelete, Path: documentsPath + "/" + url.PathEscape("short")})
	deleted := decode[struct{ CommandID string }](t, a, http.StatusOK)
	s.requireDocuments(t, `"documents":[`+short+`]`)
	s.mustUndo(t, deleted.CommandID)
	s.searchUntil(t, contract.Request{
		Path: searchPath, Body: `{"query":"pump","documents":[` + short + `]}`,
	}, func(names []string) bool { return len(names) == 1 })
}
