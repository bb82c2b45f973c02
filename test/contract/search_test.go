package contract_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// indexTimeout is how long a change may take to be found by searches on a busy machine.
const indexTimeout = 3 * time.Minute

// searcher is a server with the routes of the graph and of search.
type searcher struct {
	*writer
	*contract.Search
}

func startSearch(t *testing.T) *searcher {
	t.Helper()
	return startSearchWith(t, &contract.Search{})
}

func startSearchWith(t *testing.T, group *contract.Search) *searcher {
	t.Helper()
	group.Log = contract.OpenLog(t, kafkatest.NewKFake(t))
	commands := &contract.Commands{Log: group.Log}
	return &searcher{
		writer: &writer{Server: contract.Start(t, commands.Group, contract.GraphReads, group.Group), Commands: commands},
		Search: group,
	}
}

// searchHit is a result of either search.
type searchHit struct {
	Node         graphItem
	Score        float64
	Snippet      string
	MatchedChunk *struct {
		Index int
		Text  *string
	}
	Document *struct{ ID, ExternalID, Title string }
	Scores   struct{ Text, Vector, Graph *float64 }
	Path     []graphItem
	// A request asks for the following fields by flags.
	Explanation []struct {
		Kind, Detail string
		NodeID       *string
		Share        float64
	}
	Edges    *[]graphItem
	LiveData *[]struct {
		SourceID, SourceName, Metric string
		Unit                         *string
		Timestamp                    time.Time
		Value                        any
	}
}

// search sends a search that must succeed.
func (s *searcher) search(t testing.TB, path, body string) []searchHit {
	t.Helper()
	return s.searchAs(t, contract.Request{Path: path, Body: body})
}

// searchWhole repeats a search until no lane is missing: on a busy machine a lane may exceed its time.
func (s *searcher) searchWhole(t testing.TB, path, body string) []searchHit {
	t.Helper()
	a := s.repeat(t, contract.Request{Path: path, Body: body}, func(a *contract.Answer) bool {
		return len(a.Meta.Degraded) == 0
	})
	return decode[[]searchHit](t, a, http.StatusOK)
}

// repeat repeats a search until it succeeds with an answer for which right reports true.
func (s *searcher) repeat(t testing.TB, q contract.Request, right func(*contract.Answer) bool) *contract.Answer {
	t.Helper()
	q.Method = http.MethodPost
	deadline := time.Now().Add(indexTimeout)
	for {
		a := s.Do(t, q)
		if a.Status == http.StatusOK && right(a) {
			return a
		}
		require.True(t, time.Now().Before(deadline), "%s %s: %s", q.Path, q.Body, a.Body)
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *searcher) searchAs(t testing.TB, q contract.Request) []searchHit {
	t.Helper()
	q.Method = http.MethodPost
	return decode[[]searchHit](t, s.Do(t, q), http.StatusOK)
}

// searchUntil repeats a search until right reports true for the names of its results.
func (s *searcher) searchUntil(t testing.TB, q contract.Request, right func(names []string) bool) {
	t.Helper()
	s.repeat(t, q, func(a *contract.Answer) bool { return right(names(decode[[]searchHit](t, a, http.StatusOK))) })
}

func names(hits []searchHit) []string {
	list := make([]string, len(hits))
	for i := range hits {
		list[i] = hits[i].Node.Name
	}
	return list
}

func contains(name string) func([]string) bool {
	return func(names []string) bool { return slices.Contains(names, name) }
}

func omits(name string) func([]string) bool {
	return func(names []string) bool { return !slices.Contains(names, name) }
}

// newDescribedNode creates a node with a description and returns its id.
func (s *searcher) newDescribedNode(
	t testing.TB, key, workspace, entityType, name, description, properties string,
) string {
	t.Helper()
	payload, err := json.Marshal(map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
		"name": name, "entityType": entityType, "description": description, "properties": json.RawMessage(properties),
	}})
	require.NoError(t, err)
	q := contract.Request{
		Method: http.MethodPost, Path: executePath, Body: string(payload), Key: key, Workspace: workspace,
	}
	a := s.Do(t, q)
	// The log may need some time to become available.
	deadline := time.Now().Add(indexTimeout)
	for a.Status == http.StatusServiceUnavailable && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
		a = s.Do(t, q)
	}
	return decode[commandResult](t, a, http.StatusCreated).Node.ID
}

func (s *searcher) newRelation(t testing.TB, source, relation, target string) string {
	t.Helper()
	return s.mustExecute(
		t, `{"type":"CREATE_EDGE","payload":{"sourceId":"`+source+`","targetId":"`+target+`","relationType":"`+relation+`"}}`,
	).Edge.ID
}

// createPlant creates the graph of a small plant, and waits until all of it is indexed.
func (s *searcher) createPlant(t testing.TB) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, n := range []struct{ entityType, name, description, properties string }{
		{
			"object", "Pump 7", "Moves cooling water through the northern loop. Its bearing squeals.",
			`{"site":"north","bay":41,"running":true}`,
		},
		{"object", "Pump 8", "Moves cooling water through the southern loop.", `{"site":"south","bay":"41","running":false}`},
		{"process", "Cooling", "Keeps the reactor below its limit of temperature.", `{"site":"north"}`},
		{"concept", "Northern hall", "A building with thick walls.", `{}`},
		{"actor", "Grüße 東京タワー", "Sends postcards from a red tower.", `{"a.b":"'; DROP TABLE nodes; --"}`},
		{"object", "Visitor counter", "Counts who walks in.", `{}`},
	} {
		ids[n.name] = s.newDescribedNode(t, "", "", n.entityType, n.name, n.description, n.properties)
	}
	ids["feeds"] = s.newRelation(t, ids["Pump 7"], "feeds", ids["Cooling"])
	ids["stands_in"] = s.newRelation(t, ids["Cooling"], "stands_in", ids["Northern hall"])
	for name := range ids {
		if !strings.Contains(name, "_") && name != "feeds" {
			s.searchUntil(t, contract.Request{Path: searchPath, Body: `{"query":"` + name + `"}`}, contains(name))
		}
	}
	s.untilReady(t)
	return ids
}

// indexStatus is the answer to GET index/status.
type indexStatus struct {
	Status string
	Model  *struct {
		Name       string
		Dimensions int
	}
	Nodes         struct{ Total, Indexed, Pending int }
	Lag           struct{ Events, Seconds float64 }
	LastIndexedAt *time.Time
	Text          struct {
		Lag struct{ Events float64 }
	}
	Reindex struct {
		Running     bool
		Done, Total int
		ETASeconds  *float64
	}
}

func (s *searcher) status(t testing.TB) (status indexStatus) {
	t.Helper()
	s.Get(t, statusPath, &status)
	return status
}

// untilReady waits until all nodes are indexed and no index is being rebuilt.
func (s *searcher) untilReady(t testing.TB) indexStatus {
	t.Helper()
	deadline := time.Now().Add(indexTimeout)
	for {
		status := s.status(t)
		indexed := status.Lag.Events == 0 && status.Text.Lag.Events == 0 && status.Nodes.Pending == 0
		if status.Status == "ready" && indexed && !status.Reindex.Running { // ready allows for a short lag
			return status
		}
		require.True(t, time.Now().Before(deadline), "%+v", status)
		time.Sleep(50 * time.Millisecond)
	}
}

func TestSearchFindsByWordsAndMeaningAndPages(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	ids := s.createPlant(t)

	hits := s.search(t, searchPath, `{"query":"squeals"}`)
	require.NotEmpty(t, hits)
	first := hits[0]
	require.Equal(t, ids["Pump 7"], first.Node.ID)
	require.Equal(t, "north", first.Node.Properties["site"], "the node is shown whole")
	require.NotNil(t, first.Scores.Text)
	require.NotNil(t, first.Scores.Vector)
	require.Contains(t, first.Snippet, "squeals")
	require.Nil(t, first.MatchedChunk.Text)
	require.True(t, slices.IsSortedFunc(hits, func(a, b searchHit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	}))
	hits = s.search(t, searchPath, `{"query":"squeals","includeContent":true,"limit":1}`)
	require.Len(t, hits, 1)
	require.Contains(t, *hits[0].MatchedChunk.Text, "Its bearing squeals.")

	all := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: searchPath, Body: `{"query":"cooling water loop","limit":1000}`,
	})
	require.EqualValues(t, 100, all.Meta.Limit, "clamped, and said so")
	whole := decode[[]searchHit](t, all, http.StatusOK)
	require.EqualValues(t, len(whole), all.Meta.Total)
	require.False(t, all.Meta.HasMore)
	require.GreaterOrEqual(t, len(whole), 3)
	one := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: searchPath, Body: `{"query":"cooling water loop","limit":1,"offset":1}`,
	})
	require.Equal(t, whole[1].Node.ID, decode[[]searchHit](t, one, http.StatusOK)[0].Node.ID)
	require.True(t, one.Meta.HasMore)
	require.EqualValues(
		t, 10, s.Do(t, contract.Request{Method: http.MethodPost, Path: searchPath, Body: `{"query":"a"}`}).Meta.Limit,
	)
	for _, offset := range []string{"1000", "1001", "9223372036854775807"} {
		far := s.Do(t, contract.Request{
			Method: http.MethodPost, Path: searchPath, Body: `{"query":"cooling","offset":` + offset + `}`,
		})
		require.Equal(t, "[]", string(far.Data))
		require.False(t, far.Meta.HasMore)
	}

	least := whole[1].Score
	for _, hit := range s.search(t, searchPath, `{"query":"cooling water loop","minScore":`+jsonOf(t, least)+`}`) {
		require.GreaterOrEqual(t, hit.Score, least)
	}
	require.Empty(t, s.search(t, searchPath, `{"query":"visitor","minScore":1,"entityTypes":["process"]}`))

	status := s.untilReady(t)
	require.Equal(t, 6, status.Nodes.Total)
	require.Equal(t, 6, status.Nodes.Indexed)
	require.Equal(t, s.Embedder.Model().Dimensions, status.Model.Dimensions)
	require.NotNil(t, status.LastIndexedAt)
}

func jsonOf(t testing.TB, value any) string {
	t.Helper()
	payload, err := json.Marshal(value)
	require.NoError(t, err)
	return string(payload)
}

func TestSearchesShowOnlyWhatPassesTheFilters(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	s.createPlant(t)
	const query = `"query":"Pump 7 cooling water northern loop hall tower","limit":100`
	for filter, want := range map[string][]string{
		`"entityTypes":["process"]`:                                      {"Cooling"},
		`"entityTypes":["concept","process"]`:                            {"Cooling", "Northern hall"},
		`"properties":{"site":"south"}`:                                  {"Pump 8"},
		`"properties":{"site":["south","north"],"running":[true,false]}`: {"Pump 7", "Pump 8"},
		`"properties":{"bay":41}`:                                        {"Pump 7"},
		`"properties":{"bay":41.0}`:                                      {"Pump 7"},
		`"properties":{"bay":"41"}`:                                      {"Pump 8"},
		`"properties":{"running":false}`:                                 {"Pump 8"},
		`"properties":{"site":"north"},"entityTypes":["object"]`:         {"Pump 7"},
		`"properties":{"a.b":"'; DROP TABLE nodes; --"}`:                 {"Grüße 東京タワー"},
		`"properties":{"site":"nowhere"}`:                                {},
		`"properties":{"":"","__proto__":1}`:                             {},
		`"properties":{"a\"b]":"x\" or node_id != \""}`:                  {},
		`"properties":{"bay":42},"entityTypes":["actor"]`:                {},
		`"propertyMin":{"bay":41}`:                                       {"Pump 7"},
		`"propertyMin":{"bay":40.5},"propertyMax":{"bay":41.0}`:          {"Pump 7"},
		`"propertyMin":{"bay":41.000001}`:                                {},
		`"propertyMin":{"bay":"4"},"propertyMax":{"bay":"5"}`:            {"Pump 8"},
		`"propertyMax":{"bay":1e300},"propertyMin":{"site":"a"}`:         {"Pump 7"},
		`"propertyMin":{"site":"o"}`:                                     {"Pump 8"},
		`"propertyPrefix":{"site":"no"}`:                                 {"Pump 7", "Cooling"},
		`"propertyPrefix":{"site":"north"},"properties":{"bay":41}`:      {"Pump 7"},
		`"propertyPrefix":{"site":"N"}`:                                  {},
		`"propertyPrefix":{"bay":""}`:                                    {"Pump 8"},
		`"propertyPrefix":{"site":"%"},"entityTypes":["object"]`:         {},
		`"propertyMin":{"absent":-1e300}`:                                {},
	} {
		for _, path := range []string{searchPath, hybridPath} {
			for _, name := range names(s.search(t, path, `{`+query+`,`+filter+`}`)) {
				require.Contains(t, want, name, "%s %s", path, filter)
			}
			if len(want) > 0 {
				require.Contains(t, names(s.search(t, path, `{"query":"`+want[0]+`",`+filter+`}`)), want[0], "%s %s", path, filter)
			}
		}
	}
}

// anyTexts returns texts that are odd, hostile or long.
func anyTexts() []string {
	return []string{
		"?", "!!! ... ---", "😀", "👩‍👩‍👧", "the of and a", "\u200b", "\u202e\u202d", "e\u0301", "%", "_", `\`, `"`, `'`,
		"\x1b[31m", "a\nb\tc",
		"' OR 1=1 --", `" || workspace_id != "`, `id in ["x"]`, "{{7*7}}", "<script>alert(1)</script>", "=HYPERLINK(1)",
		"redis.call('FLUSHALL')", "../../etc/passwd",
		"東京", "สวัสดี", "مرحبا", "Ελλάδα", "-1", "NaN", "null", strings.Repeat("😀", 8192), strings.Repeat("a", 8192),
		strings.Repeat("ab ", 2730), strings.Repeat("東京", 4096),
	}
}

func TestAnyTextIsAQuery(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	s.createPlant(t)
	for _, query := range anyTexts() {
		for _, path := range []string{searchPath, hybridPath} {
			a := s.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: jsonOf(t, map[string]any{"query": query})})
			require.Equal(t, http.StatusOK, a.Status, "%s %.40q: %s", path, query, a.Body)
			require.NotEqual(t, "null", string(a.Data))
		}
	}
	for _, query := range []string{"?", "!!! ... ---", "😀", "\u200b"} {
		require.Empty(t, s.search(t, searchPath, jsonOf(t, map[string]any{"query": query})), "%q says nothing", query)
	}
	require.Equal(t, "Grüße 東京タワー", s.search(t, searchPath, `{"query":"東京"}`)[0].Node.Name)
	require.Equal(t, "Grüße 東京タワー", s.search(t, searchPath, `{"query":"grusse"}`)[0].Node.Name, "whatever is folded")
}

func TestTwoWorkspacesWithTheSameTextsNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	mine := s.createPlant(t)
	other := s.NewWorkspace(t, apikey.Live)
	key := s.NewKey(t, []uuid.UUID{other}, request.Admin)
	theirs := s.newDescribedNode(
		t, key, other.String(), "object", "Pump 7", "Moves cooling water through the northern loop. Its bearing squeals.",
		`{"site":"north"}`,
	)
	as := contract.Request{
		Path: searchPath, Body: `{"query":"Pump 7 squeals","limit":100}`, Key: key, Workspace: other.String(),
	}
	s.searchUntil(t, as, contains("Pump 7"))
	for _, path := range []string{searchPath, hybridPath} {
		as.Path = path
		hits := s.searchAs(t, as)
		require.Len(t, hits, 1)
		require.Equal(t, theirs, hits[0].Node.ID)
		for _, hit := range s.search(t, path, `{"query":"Pump 7 squeals","limit":100}`) {
			require.NotEqual(t, theirs, hit.Node.ID)
		}
	}
	as.Path, as.Body = hybridPath, `{"query":"?","nodeIds":["`+mine["Pump 7"]+`"],"hops":3,"includeEdges":true}`
	require.Empty(t, s.searchAs(t, as), "another workspace's node is none to begin at")

	var status indexStatus
	a := s.Do(t, contract.Request{Path: statusPath, Key: key, Workspace: other.String()})
	require.NoError(t, json.Unmarshal(a.Data, &status))
	require.Equal(t, 1, status.Nodes.Total)
}

func TestADeletedNodeIsNotFoundAndFoundAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	ids := s.createPlant(t)
	// A deleted node is not found, even while the indexes contain it.
	s.mustExecute(t, deleteNode(ids["Pump 7"]))
	for _, path := range []string{searchPath, hybridPath} {
		require.NotContains(t, names(s.search(t, path, `{"query":"Pump 7 bearing squeals","limit":100}`)), "Pump 7")
	}
	s.untilReady(t)
	require.Equal(t, 5, s.status(t).Nodes.Indexed)
	s.mustExecute(t, `{"type":"UNDO"}`)
	for _, path := range []string{searchPath, hybridPath} {
		s.searchUntil(t, contract.Request{Path: path, Body: `{"query":"bearing squeals"}`}, contains("Pump 7"))
	}
	s.searchUntil(t, contract.Request{Path: hybridPath, Body: `{"query":"Pump 7"}`}, contains("Northern hall"))

	s.mustExecute(t, updateNode(ids["Pump 7"], `"name":"Extruder","description":"Presses plastic through a die."`))
	s.searchUntil(t, contract.Request{Path: searchPath, Body: `{"query":"plastic die"}`}, contains("Extruder"))
	s.searchUntil(t, contract.Request{Path: searchPath, Body: `{"query":"squeals","minScore":0.3}`}, omits("Extruder"))
}
