package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

const documentsPath = "/api/documents"

// putResult is the result of a document in an answer.
type putResult struct {
	Index                  int
	ID, ExternalID, Status string
	CommandID              *string
}

// documentItem is a document in an answer.
type documentItem struct {
	ID, ExternalID, Title, ContentType, Hash string
	SourceURL                                *string
	Tags                                     []string
	Timestamp                                *string
	Revision, PassageCount, Version          int
	Passages                                 []struct {
		ID, Text        string
		Index, From, To int
		Heading         *string
		Page            *int
	}
}

// documentInput is a document in a request.
type documentInput map[string]any

// put sends documents that must be accepted.
func (w *writer) put(t testing.TB, documents ...documentInput) []putResult {
	t.Helper()
	body, err := json.Marshal(map[string]any{"documents": documents})
	require.NoError(t, err)
	a := w.Do(t, contract.Request{Method: http.MethodPost, Path: documentsPath, Body: string(body)})
	return decode[struct{ Documents []putResult }](t, a, http.StatusAccepted).Documents
}

// document reads a document by its id or its external id.
func (w *writer) document(t testing.TB, name string) documentItem {
	t.Helper()
	a := w.Do(t, contract.Request{Path: documentsPath + "/" + url.PathEscape(name)})
	return decode[documentItem](t, a, http.StatusOK)
}

// sentences returns a text of numbered sentences of twelve words.
func sentences(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "Sentence %d says that the pump moves water to the hall. ", i)
	}
	return b.String()
}

func TestADocumentBecomesNodesAndIsReadAgain(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	long := "# Pumps\n\n" + sentences(0, 30) + "\n\n## Maintenance\n\n" + sentences(30, 60)
	results := w.put(t,
		documentInput{
			"externalId": "handbook/a b.md", "text": long, "contentType": "text/markdown; charset=UTF-8",
			"sourceUrl": "https://wiki.example.com/a", "tags": []string{"one", "two"}, "timestamp": "2026-11-21T08:40:08+01:00",
		},
		documentInput{"externalId": "100%", "title": "Note", "text": "The machine is loud."},
		documentInput{"externalId": "empty", "text": "<head><title>Nothing</title></head>", "contentType": "text/html"},
	)
	require.Equal(t, []string{"created", "created", "created"}, []string{
		results[0].Status, results[1].Status, results[2].Status,
	})

	d := w.document(t, "handbook/a b.md")
	require.Equal(t, d, w.document(t, results[0].ID), "by both ids")
	require.Equal(t, "Pumps", d.Title)
	require.Equal(t, "text/markdown", d.ContentType)
	require.Equal(t, "2026-11-21T07:40:08Z", *d.Timestamp)
	require.Equal(t, []string{"one", "two"}, d.Tags)
	require.Greater(t, d.PassageCount, 3)
	require.Len(t, d.Passages, d.PassageCount)
	all := ""
	for i, p := range d.Passages {
		require.Equal(t, i, p.Index)
		all += " " + p.Text
		var n graphItem
		w.Get(t, "/api/queries/nodes/"+p.ID, &n)
		require.Equal(t, p.Text, *n.Description)
		require.Contains(t, n.Name, "Pumps")
	}
	require.Equal(t, "Maintenance", *d.Passages[len(d.Passages)-1].Heading)
	require.Equal(t, strings.Fields(strings.ReplaceAll(long, "#", "")), strings.Fields(all), "nothing is lost or doubled")
	var edges []graphItem
	w.Get(t, "/api/queries/edges?limit=100&relationType=contains&sourceId="+d.ID, &edges)
	require.Len(t, edges, d.PassageCount)

	note := w.document(t, "100%")
	require.Empty(t, note.Passages)
	var n graphItem
	w.Get(t, "/api/queries/nodes/"+note.ID, &n)
	require.Equal(t, "Note", n.Name)
	require.Equal(t, "The machine is loud.", *n.Description)
	require.Equal(t, "Nothing", w.document(t, "empty").Title)

	var list []documentItem
	a := w.Get(t, documentsPath+"?limit=2", &list)
	require.EqualValues(t, 3, a.Meta.Total)
	require.Len(t, list, 2)
	w.Get(t, documentsPath+"?limit=2&offset=2", &list)
	require.Len(t, list, 1)
	w.Get(t, documentsPath+"?externalId=100%25", &list)
	require.Equal(t, note.ID, list[0].ID)
}

func TestTheSameDocumentAgainChangesNothingAndAnotherContentIsANewVersion(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	send := func(text string) putResult {
		return w.put(t, documentInput{"externalId": "doc", "title": "Doc", "text": text})[0]
	}
	first := send(sentences(0, 60))
	before := w.document(t, "doc")
	again := send(sentences(0, 60))
	require.Equal(t, "unchanged", again.Status)
	require.Nil(t, again.CommandID)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, before, w.document(t, "doc"))

	changed := send(sentences(0, 58) + "Now it stops. ")
	require.Equal(t, "updated", changed.Status)
	after := w.document(t, "doc")
	require.Equal(t, 2, after.Revision)
	require.Equal(t, before.Passages[0], after.Passages[0], "an unchanged passage keeps its node")
	require.Contains(t, after.Passages[len(after.Passages)-1].Text, "Now it stops.")

	require.Equal(t, "updated", send("Short.").Status)
	short := w.document(t, "doc")
	require.Zero(t, short.PassageCount)
	require.Empty(t, short.Passages)
	require.Equal(t, "updated", send(sentences(0, 60)).Status)
	long := w.document(t, "doc")
	require.Len(t, long.Passages, len(before.Passages))
	require.NotEqual(t, before.Passages[0].ID, long.Passages[0].ID, "a deleted id is not used again")

	for range 3 {
		w.mustExecute(t, `{"type":"UNDO"}`)
	}
	restored := w.document(t, "doc")
	require.Equal(t, before.Hash, restored.Hash)
	require.Equal(t, 1, restored.Revision)
	require.Equal(t, before.Passages, restored.Passages, "an undo restores the previous version")
	require.Equal(t, "unchanged", send(sentences(0, 60)).Status)
	require.Equal(t, "updated", send("Short.").Status, "and a later version is possible")
}

func TestADeletedDocumentTakesItsPassagesAndLinksAlongAndUndoRestoresThem(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	send := func() putResult { return w.put(t, documentInput{"externalId": "a/b", "text": sentences(0, 60)})[0] }
	first := send()
	before := w.document(t, "a/b")
	other := w.newNode(t, "other")
	link := w.mustExecute(t, createEdge(other, before.Passages[1].ID))

	a := w.Do(t, contract.Request{Method: http.MethodDelete, Path: documentsPath + "/a%2Fb"})
	deleted := decode[struct{ ID, ExternalID, Status, CommandID string }](t, a, http.StatusOK)
	require.Equal(t, "deleted", deleted.Status)
	require.Equal(t, first.ID, deleted.ID)
	gone := func() {
		for _, path := range []string{
			documentsPath + "/a%2Fb", documentsPath + "/" + first.ID, "/api/queries/nodes/" + before.Passages[0].ID,
			"/api/queries/edges/" + link.Edge.ID,
		} {
			require.Equal(t, http.StatusNotFound, w.Do(t, contract.Request{Path: path}).Status, path)
		}
	}
	gone()
	again := w.Do(t, contract.Request{Method: http.MethodDelete, Path: documentsPath + "/a%2Fb"})
	again.RequireFailure(t, 404, "NOT_FOUND", "No such document", nil)

	w.mustExecute(t, `{"type":"UNDO","payload":{"commandId":"`+deleted.CommandID+`"}}`)
	require.Equal(t, before.Passages, w.document(t, "a/b").Passages)
	require.Equal(t, http.StatusOK, w.Do(t, contract.Request{Path: "/api/queries/edges/" + link.Edge.ID}).Status)
	require.Equal(t, "unchanged", send().Status)

	w.mustExecute(t, `{"type":"REDO"}`)
	gone()
	second := send()
	require.Equal(t, "created", second.Status)
	require.NotEqual(t, first.ID, second.ID)
	require.Len(t, w.document(t, "a/b").Passages, len(before.Passages))
}

func TestConcurrentVersionsOfADocumentLeaveOneOfThem(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	texts := []string{sentences(0, 60), sentences(20, 90), "Short.", sentences(0, 40) + sentences(70, 90)}
	var group sync.WaitGroup
	for _, text := range texts {
		group.Go(func() {
			for range 4 {
				body, _ := json.Marshal(map[string]any{"documents": []documentInput{{"externalId": "doc", "text": text}}})
				a := w.Do(t, contract.Request{Method: http.MethodPost, Path: documentsPath, Body: string(body)})
				if a.Status != http.StatusAccepted && a.Status != http.StatusServiceUnavailable {
					t.Errorf("%d: %s", a.Status, a.Body)
				}
			}
		})
	}
	group.Wait()
	d := w.document(t, "doc")
	var nodes []graphItem
	require.Eventually(t, func() bool { // a change that was answered 503 may be decided later
		d = w.document(t, "doc")
		w.Get(t, "/api/queries/nodes?limit=100", &nodes)
		return len(nodes) == 1+len(d.Passages)
	}, time.Minute, 100*time.Millisecond, "no node of another version is left")
	joined := ""
	for _, p := range d.Passages {
		joined += p.Text + " "
	}
	if d.PassageCount == 0 {
		joined = *nodes[0].Description
	}
	matches := false
	for _, text := range texts {
		matches = matches || strings.TrimSpace(text) == strings.TrimSpace(joined)
	}
	require.True(t, matches, joined)
}

func TestDocumentsOfAnotherWorkspaceAreUnknown(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	mine := w.put(t, documentInput{"externalId": "doc", "text": "secret"})[0]
	other := w.NewWorkspace(t, apikey.Live)
	key := w.NewKey(t, []uuid.UUID{other}, request.Admin)
	for _, name := range []string{"doc", mine.ID} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			a := w.Do(t, contract.Request{
				Method: method, Path: documentsPath + "/" + name, Key: key, Workspace: other.String(),
			})
			require.Equal(t, http.StatusNotFound, a.Status, "%s %s", method, name)
		}
	}
	a := w.Do(t, contract.Request{
		Method: http.MethodPost, Path: documentsPath, Key: key, Workspace: other.String(),
		Body: `{"documents":[{"externalId":"doc","text":"theirs"}]}`,
	})
	theirs := decode[struct{ Documents []putResult }](t, a, http.StatusAccepted).Documents[0]
	require.Equal(t, "created", theirs.Status)
	require.NotEqual(t, mine.ID, theirs.ID)
}

func TestBadDocumentsAreRefusedAndWriteNothing(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	one := func(members string) string {
		return `{"documents":[{"externalId":"good","text":"x"},{"externalId":"a","text":"x",` + members + `}]}`
	}
	twice := `{"documents":[{"externalId":"a","text":"x"},{"externalId":"a","text":"y"}]}`
	many := strings.TrimSuffix(strings.Repeat(`{"externalId":"a","text":"x"},`, 1001), ",")
	long := `{"documents":[{"externalId":"a","text":"` + strings.Repeat("word ", 220_000) + `"}]}`
	tags := `["` + strings.Join(strings.Split(strings.Repeat("t", 65), ""), `","`) + `"]`
	for name, c := range map[string]struct {
		body   string
		status int
		field  string
	}{
		"no documents":        {`{}`, 400, "documents"},
		"documents null":      {`{"documents":null}`, 400, "documents"},
		"documents an object": {`{"documents":{}}`, 400, "documents"},
		"none":                {`{"documents":[]}`, 422, "documents"},
		"too many":            {`{"documents":[` + many + `]}`, 422, "documents"},
		"a string":            {`{"documents":["x"]}`, 400, "documents[0]"},
		"no external id":      {`{"documents":[{"text":"x"}]}`, 400, "documents[0].externalId"},
		"no text":             {`{"documents":[{"externalId":"x"}]}`, 400, "documents[0].text"},
		"empty external id":   {`{"documents":[{"externalId":"","text":"x"}]}`, 422, "documents[0].externalId"},
		"control characters":  {`{"documents":[{"externalId":"a\nb","text":"x"}]}`, 422, "documents[0].externalId"},
		"NUL":                 {`{"documents":[{"externalId":"a","text":"a\u0000b"}]}`, 422, "documents[0].text"},
		"long title":          {one(`"title":"` + strings.Repeat("t", 513) + `"`), 422, "documents[1].title"},
		"the same twice":      {twice, 422, "documents[1].externalId"},
		"unknown field":       {one(`"colour":"red"`), 400, "documents[1].colour"},
		"PDF":                 {one(`"contentType":"application/pdf"`), 422, "documents[1].contentType"},
		"Latin-1":             {one(`"contentType":"text/plain; charset=latin1"`), 422, "documents[1].contentType"},
		"no media type":       {one(`"contentType":";;"`), 422, "documents[1].contentType"},
		"no URL":              {one(`"sourceUrl":"wiki"`), 422, "documents[1].sourceUrl"},
		"a script as URL":     {one(`"sourceUrl":"JavaScript:alert(1)"`), 422, "documents[1].sourceUrl"},
		"too many tags":       {one(`"tags":` + tags), 422, "documents[1].tags"},
		"an empty tag":        {one(`"tags":[""]`), 422, "documents[1].tags[0]"},
		"a date without time": {one(`"timestamp":"2026-11-21"`), 422, "documents[1].timestamp"},
		"too much text":       {long, 422, "documents[0].text"},
	} {
		a := w.Do(t, contract.Request{Method: http.MethodPost, Path: documentsPath, Body: c.body})
		require.Equal(t, c.status, a.Status, "%s: %.300s", name, a.Body)
		require.Equal(t, c.field, a.Error.Details["field"], "%s: %.300s", name, a.Body)
		if name == "PDF" {
			require.Equal(t, []any{"text/plain", "text/markdown", "text/html"}, a.Error.Details["allowed"])
		}
	}
	var list []documentItem
	w.Get(t, documentsPath, &list)
	require.Empty(t, list)
}

// TestNodesThatOnlyLookLikeDocumentsAreNone covers properties that clients set: any value is allowed.
func TestNodesThatOnlyLookLikeDocumentsAreNone(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	for i, value := range []string{
		`"x"`, `7`, `{"externalId":7}`, `{"externalId":"doc"}`, `{"externalId":"doc","id":"x"}`, `{"externalId":"` +
			strings.Repeat("e", 20_000) + `","id":"0194a5b0-0000-7000-8000-00000000000a","passage":{"index":0}}`,
		`{"externalId":"doc","id":"0194a5b0-0000-7000-8000-00000000000a","passage":true}`,
	} {
		w.mustExecute(t, fmt.Sprintf(
			`{"type":"CREATE_NODE","payload":{"name":"n%d","entityType":"object","properties":{"document":%s}}}`, i, value,
		))
	}
	require.Equal(t, http.StatusNotFound, w.Do(t, contract.Request{Path: documentsPath + "/doc"}).Status)
	require.Equal(t, "created", w.put(t, documentInput{"externalId": "doc", "text": sentences(0, 40)})[0].Status)
	require.Equal(t, "updated", w.put(t, documentInput{"externalId": "doc", "text": sentences(9, 60)})[0].Status)
	require.NotEmpty(t, w.document(t, "doc").Passages)
	var list []documentItem
	w.Get(t, documentsPath, &list)
	require.Len(t, list, 1)
}

func TestSearchGroupsPassagesByDocument(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	results := s.put(t,
		documentInput{"externalId": "long", "title": "Pumps", "text": sentences(0, 60) + "The turbine is hot."},
		documentInput{"externalId": "short", "title": "Kettle", "text": "A pump for tea water."},
	)
	s.newNode(t, "Pump without a document")
	s.untilReady(t)
	for _, path := range []string{searchPath, hybridPath} {
		hits := s.search(t, path, `{"query":"pump water hall","limit":100}`)
		passages := 0
		for _, h := range hits {
			if h.Document != nil && h.Document.ExternalID == "long" {
				require.Equal(t, results[0].ID, h.Document.ID)
				require.Equal(t, "Pumps", h.Document.Title)
				passages++
			}
		}
		require.Greater(t, passages, 2, path)
		grouped := s.search(t, path, `{"query":"pump water hall","limit":100,"groupBy":"document"}`)
		seen := map[string]int{}
		for _, h := range grouped {
			if h.Document == nil {
				seen["node"]++
				continue
			}
			seen[h.Document.ExternalID]++
			if h.Document.ExternalID == "long" {
				require.NotEqual(t, results[0].ID, h.Node.ID, "a passage, not the document's node")
			}
		}
		require.Equal(t, map[string]int{"node": 1, "long": 1, "short": 1}, seen, path)
		a := s.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: `{"query":"x","groupBy":"node"}`})
		a.RequireFailure(t, 422, validation, "", map[string]any{"field": "groupBy", "allowed": []any{"document"}})
	}
	hits := s.search(t, searchPath, `{"query":"Kettle","limit":1}`)
	require.Equal(t, results[1].ID, hits[0].Node.ID, "the title is a name")
}
