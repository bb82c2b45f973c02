package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

func hitNamed(t testing.TB, hits []searchHit, name string) *searchHit {
	t.Helper()
	for i := range hits {
		if hits[i].Node.Name == name {
			return &hits[i]
		}
	}
	require.Fail(t, "not found", "%s in %v", name, names(hits))
	return nil
}

func TestHybridSearchWalksFromWhatItFinds(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	ids := s.createPlant(t)

	hits := s.search(t, hybridPath, `{"query":"Pump 7","explain":true}`)
	require.Equal(t, "Pump 7", hits[0].Node.Name)
	require.InDelta(t, 1, hits[0].Score, 1e-9, "scaled to the first")
	require.Empty(t, hits[0].Path)
	require.NotEmpty(t, hits[0].Explanation)
	hall := hitNamed(t, s.search(t, hybridPath, `{"query":"?","nodeIds":["`+ids["Pump 7"]+`"]}`), "Northern hall")
	require.Len(t, hall.Path, 2)
	require.Equal(t, ids["feeds"], hall.Path[0].ID, "from where the walk began")
	require.Equal(t, ids["stands_in"], hall.Path[1].ID)
	require.NotNil(t, hall.Scores.Graph)
	for _, hit := range hits {
		require.Nil(t, hit.Edges)
		require.Nil(t, hit.LiveData)
	}
	require.Nil(t, s.search(t, hybridPath, `{"query":"Pump 7"}`)[0].Explanation)

	alone := func(more string) []string {
		return names(s.search(t, hybridPath, `{"query":"?","nodeIds":["`+ids["Pump 7"]+`","`+uuid.NewString()+`"]`+more+`}`))
	}
	require.ElementsMatch(t, []string{"Pump 7", "Cooling", "Northern hall"}, alone(""))
	require.ElementsMatch(t, []string{"Pump 7"}, alone(`,"hops":0`))
	require.ElementsMatch(t, []string{"Pump 7", "Cooling"}, alone(`,"hops":1`))
	require.ElementsMatch(t, []string{"Pump 7", "Cooling", "Northern hall"}, alone(`,"hops":3,"direction":"out"`))
	require.ElementsMatch(t, []string{"Pump 7"}, alone(`,"direction":"in"`))
	require.ElementsMatch(t, []string{"Pump 7", "Cooling"}, alone(`,"relationTypes":["feeds"]`))
	require.ElementsMatch(t, []string{"Pump 7"}, alone(`,"relationTypes":["'; DROP TABLE edges; --"]`))
	require.ElementsMatch(
		t, []string{"Pump 7"}, alone(`,"entityTypes":["object","concept"]`), "what a filter leaves out is not walked over",
	)
	require.Empty(t, names(s.search(t, hybridPath, `{"query":"?"}`)))
	require.Empty(
		t, names(s.search(t, hybridPath, `{"query":"?","nodeIds":["`+uuid.NewString()+`"]}`)),
		"one that is not there gives nothing",
	)

	for _, weights := range []string{
		`{"text":1,"vector":0,"graph":0}`, `{"vector":0}`, `{"text":0,"graph":0}`, `{"text":0,"vector":0}`,
		`{"text":0.001,"vector":0.001,"graph":0.001}`, `{}`,
	} {
		a := s.Do(t, contract.Request{
			Method: http.MethodPost, Path: hybridPath, Body: `{"query":"cooling water","weights":` + weights + `}`,
		})
		require.Equal(t, http.StatusOK, a.Status, "%s: %s", weights, a.Body)
	}
}

func TestHybridSearchShowsEdgesAmongTheHits(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	ids := s.createPlant(t)
	self := s.newRelation(t, ids["Cooling"], "controls", ids["Cooling"])
	s.newRelation(t, ids["Cooling"], "watched_by", ids["Visitor counter"])
	hits := s.search(
		t, hybridPath,
		`{"query":"Pump 7 Cooling","includeEdges":true,"entityTypes":["object","process"],"properties":{"site":"north"}}`,
	)
	require.ElementsMatch(t, []string{"Pump 7", "Cooling"}, names(hits))
	of := func(name string) (list []string) {
		for _, e := range *hitNamed(t, hits, name).Edges {
			list = append(list, e.ID)
		}
		return list
	}
	require.ElementsMatch(t, []string{ids["feeds"]}, of("Pump 7"))
	require.ElementsMatch(t, []string{ids["feeds"], self}, of("Cooling"), "only those whose both ends are hits")
	hits = s.search(t, hybridPath, `{"query":"Pump 7 Cooling","includeEdges":true,"relationTypes":["controls"]}`)
	require.ElementsMatch(t, []string{self}, of("Cooling"))
}

func TestAHubDoesNotDelayASearch(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	hub := s.newNode(t, "Hub")
	conn, err := pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	for _, statement := range []string{
		`INSERT INTO nodes (workspace_id, id, name, entity_type, properties, created_at, updated_at, version, changed_by,
			created_by)
			SELECT n.workspace_id, gen_random_uuid(), 'Spoke ' || i, 'object', '{}', n.created_at, n.updated_at, 1, n.changed_by,
			n.created_by
			FROM nodes n, generate_series(1, 100000) i WHERE n.id = $1`,
		`INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, properties, created_at, updated_at,
			version, changed_by, created_by, newest)
			SELECT s.workspace_id, gen_random_uuid(), $1, s.id, 'has', '{}', s.created_at, s.updated_at, 1, s.changed_by,
			s.created_by, s.changed_by
			FROM nodes s WHERE s.name LIKE 'Spoke %' AND $1 <> s.id`,
	} {
		_, err := conn.Exec(t.Context(), statement, hub)
		require.NoError(t, err)
	}
	for _, body := range []string{
		`{"query":"?","nodeIds":["` + hub + `"],"hops":3,"limit":100,"includeEdges":true,"explain":true}`,
		`{"query":"Hub","hops":3,"direction":"out"}`,
	} {
		began := time.Now()
		hits := s.search(t, hybridPath, body)
		t.Logf("a hub with 100,000 edges: %s", time.Since(began))
		require.NotEmpty(t, hits)
	}
}

func TestWithoutMilvusSearchesUseTheTextLane(t *testing.T) {
	t.Parallel()
	engine := testenv.StoppableMilvus(t)
	s := startSearchWith(t, &contract.Search{Milvus: engine.Address()})
	s.createPlant(t)
	away := func(why string) {
		a := s.Do(t, contract.Request{Method: http.MethodPost, Path: searchPath, Body: `{"query":"Pump 7"}`})
		hitNamed(t, decode[[]searchHit](t, a, http.StatusOK), "Pump 7")
		require.Equal(t, []string{"vector"}, a.Meta.Degraded, why)
		require.NotContains(t, string(a.Body), engine.Address(), "where it is is nobody's business")
		a = s.Do(t, contract.Request{Method: http.MethodPost, Path: hybridPath, Body: `{"query":"Pump 7"}`})
		hits := decode[[]searchHit](t, a, http.StatusOK)
		require.Equal(t, []string{"vector"}, a.Meta.Degraded, why)
		hitNamed(t, hits, "Northern hall")
		require.Nil(t, hits[0].Scores.Vector)
	}
	testenv.Pause(t, engine)
	away("it hangs")
	testenv.Resume(t, engine)
	s.searchUntil(t, contract.Request{Path: searchPath, Body: `{"query":"Pump 7"}`}, contains("Pump 7"))

	require.NoError(t, engine.Stop(t.Context()))
	away("it is gone")
	s.newDescribedNode(t, "", "", "object", "Late comer", "Was written while Milvus was away.", `{}`)
	s.searchUntil(t, contract.Request{Path: hybridPath, Body: `{"query":"Late comer"}`}, contains("Late comer"))
	require.NoError(t, engine.Start(t.Context()))
	s.searchUntil(
		t, contract.Request{Path: searchPath, Body: `{"query":"written while Milvus was away"}`}, contains("Late comer"),
	)
	require.Equal(t, 7, s.untilReady(t).Nodes.Indexed)
}

func TestWithoutTheEmbedderSearchesUseTheTextLane(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	s.createPlant(t)
	s.Embedder.(*contract.SwitchableEmbedder).Unavailable.Store(true)
	a := s.Do(t, contract.Request{Method: http.MethodPost, Path: searchPath, Body: `{"query":"Pump 7"}`})
	hits := decode[[]searchHit](t, a, http.StatusOK)
	hitNamed(t, hits, "Pump 7")
	require.Nil(t, hits[0].Scores.Vector)
	require.Equal(t, []string{"vector"}, a.Meta.Degraded)
	a = s.Do(t, contract.Request{Method: http.MethodPost, Path: hybridPath, Body: `{"query":"Pump 7"}`})
	hitNamed(t, decode[[]searchHit](t, a, http.StatusOK), "Northern hall")
	require.Equal(t, []string{"vector"}, a.Meta.Degraded)
}

func TestAnAdministratorRebuildsOnlyTheIndexOfTheirOwnWorkspace(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	s.createPlant(t)
	before, err := s.DB.LastReindex(t.Context())
	require.NoError(t, err)
	for _, body := range []string{"", "{}"} {
		a := s.Do(t, contract.Request{Method: http.MethodPost, Path: reindexPath, Body: body})
		// the one before runs yet
		for deadline := time.Now().Add(indexTimeout); a.Status == http.StatusConflict && time.Now().Before(deadline); {
			time.Sleep(100 * time.Millisecond)
			a = s.Do(t, contract.Request{Method: http.MethodPost, Path: reindexPath, Body: body})
		}
		started := decode[struct {
			ID          string
			Running     bool
			Done, Total int
		}](t, a, http.StatusAccepted)
		require.True(t, started.Running)
		require.Equal(t, 6, started.Total)
		again := s.Do(t, contract.Request{Method: http.MethodPost, Path: reindexPath})
		if again.Status != http.StatusAccepted { // or the first is over already
			again.RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "reindex_running"})
		}
		hitNamed(t, s.search(t, searchPath, `{"query":"Pump 7"}`), "Pump 7")
	}
	status := s.untilReady(t)
	require.Equal(t, 6, status.Nodes.Indexed)
	after, err := s.DB.LastReindex(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after, "an index of all workspaces is the operator's to ask for")
	hitNamed(t, s.search(t, searchPath, `{"query":"Pump 7"}`), "Pump 7")
}

// startSearchOfLiveData starts one server whose searches include the points of its live data.
func startSearchOfLiveData(t *testing.T) (*searcher, *live) {
	t.Helper()
	return startSearchOfLiveDataWith(t, &contract.Search{})
}

func startSearchOfLiveDataWith(t *testing.T, group *contract.Search) (*searcher, *live) {
	t.Helper()
	group.Log = contract.OpenLog(t, kafkatest.NewKFake(t))
	data, commands := &contract.LiveData{Log: group.Log}, &contract.Commands{Log: group.Log}
	s := contract.Start(t, data.Group, commands.Group, contract.GraphReads, func(
		t testing.TB, s *contract.Server,
	) []route.Route {
		group.Points = data.Points
		return group.Group(t, s)
	})
	return &searcher{writer: &writer{Server: s, Commands: commands}, Search: group}, &live{Server: s, LiveData: data}
}

func TestHybridSearchShowsTheLatestValuesOfLinkedSources(t *testing.T) {
	t.Parallel()
	search, l := startSearchOfLiveData(t)
	s := search.Server
	pump := search.newDescribedNode(t, "", "", "object", "Pump 7", "Moves water.", `{}`)
	other := search.newDescribedNode(t, "", "", "object", "Hall 3", "Has a pump.", `{}`)
	linked := l.createSource(t, `{"name":"pump","unit":"°C","nodeId":"`+pump+`"}`)
	elsewhere := l.createSource(t, `{"name":"elsewhere"}`)
	now := time.Now().UnixMicro()
	l.store(
		t, s.Workspace, seriesKey{source: linked.ID, metric: "temperature"}, sample{us: now - 1e6, value: 70.0, version: 1},
		sample{us: now, value: 71.5, version: 2},
	)
	l.store(
		t, s.Workspace, seriesKey{source: linked.ID, metric: "state", text: true}, sample{us: now, value: "on", version: 1},
	)
	l.store(
		t, s.Workspace, seriesKey{source: elsewhere.ID, metric: "temperature"}, sample{us: now, value: 1.0, version: 1},
	)

	search.searchUntil(t, contract.Request{Path: hybridPath, Body: `{"query":"Pump 7 Hall 3"}`}, contains("Hall 3"))
	hits := search.search(t, hybridPath, `{"query":"Pump 7 Hall 3","nodeIds":["`+other+`"],"includeLiveData":true}`)
	values := map[string]any{}
	for _, v := range *hitNamed(t, hits, "Pump 7").LiveData {
		require.Equal(t, "pump", v.SourceName)
		require.Equal(t, "°C", *v.Unit)
		require.Equal(t, now, v.Timestamp.UnixMicro())
		values[v.Metric] = v.Value
	}
	require.Equal(t, map[string]any{"temperature": 71.5, "state": "on"}, values)
	require.Empty(t, *hitNamed(t, hits, "Hall 3").LiveData)
	require.NotNil(t, hitNamed(t, hits, "Hall 3").LiveData)
}
