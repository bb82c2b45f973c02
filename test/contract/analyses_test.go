package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/test/contract"
)

const analysesPath = "/api/analyses"

// analysisItem is an analysis in an answer.
type analysisItem struct {
	ID, Algorithm, State        string
	EntityTypes, RelationTypes  []string
	Weight, Direction, Property *string
	Damping                     *float64
	Phase, Error                *string
	Sequence                    *int64
	Nodes, Edges                int64
	Written, Unchanged, Skipped int64
	CreatedAt                   string
	StartedAt, FinishedAt       *string
	Result                      *analysisResult
}

type analysisResult struct {
	Top []struct {
		NodeID string
		Value  float64
	}
	Groups []struct {
		Group, Size int
		NodeID      string
	}
	GroupCount, Iterations *int
	Converged              *bool
	Modularity             *float64
}

func analyze(t *testing.T, s *contract.Server, body string, header map[string]string) *contract.Answer {
	t.Helper()
	return s.Do(t, contract.Request{Method: http.MethodPost, Path: analysesPath, Body: body, Header: header})
}

// queueAnalysis queues an analysis and returns its path.
func queueAnalysis(t *testing.T, s *contract.Server, body string) (path string, queued analysisItem) {
	t.Helper()
	a := analyze(t, s, body, nil)
	queued = decode[analysisItem](t, a, http.StatusAccepted)
	require.Equal(t, "queued", queued.State)
	require.Equal(t, analysesPath+"/"+queued.ID, a.Header.Get("Location"))
	return a.Header.Get("Location"), queued
}

// awaitAnalysis waits until an analysis is done, and returns it.
func awaitAnalysis(t *testing.T, s *contract.Server, path string) (done analysisItem) {
	t.Helper()
	require.Eventually(t, func() bool {
		done = decode[analysisItem](t, s.Do(t, contract.Request{Path: path}), http.StatusOK)
		require.NotEqual(t, "failed", done.State)
		return done.State == "done"
	}, time.Minute, 10*time.Millisecond)
	return done
}

func TestAnalysesOfTheGraph(t *testing.T) {
	t.Parallel()
	c := &contract.Commands{}
	s := contract.Start(t, c.Group, contract.GraphReads, contract.Analyses)
	contract.RunAnalyses(t, s, c.Log)
	w := &writer{Server: s, Commands: c}
	hub := w.newNode(t, "hub")
	var leaves []string
	for i := range 3 {
		leaves = append(leaves, w.newNode(t, fmt.Sprint("leaf ", i)))
		w.newEdge(t, leaves[i], hub)
	}
	alone := w.newNode(t, "alone")

	path, queued := queueAnalysis(t, s, `{"algorithm":"pagerank","property":"rank \"a\" <b>"}`)
	require.Equal(t, []any{"out", 0.85}, []any{*queued.Direction, *queued.Damping})
	require.Empty(t, queued.EntityTypes)
	done := awaitAnalysis(t, s, path)
	require.EqualValues(t, []int64{5, 3, 5}, []int64{done.Nodes, done.Edges, done.Written})
	require.Equal(t, hub, done.Result.Top[0].NodeID)
	require.True(t, *done.Result.Converged)
	require.Nil(t, done.Result.GroupCount)
	node := decode[struct{ Properties map[string]any }](
		t, s.Do(t, contract.Request{Path: "/api/queries/nodes/" + hub}), http.StatusOK,
	)
	require.Equal(t, map[string]any{`rank "a" <b>`: done.Result.Top[0].Value}, node.Properties)

	path, _ = queueAnalysis(t, s, `{"algorithm":"components"}`)
	done = awaitAnalysis(t, s, path)
	groups := done.Result.Groups
	require.Equal(t, []int{2, 4, 1}, []int{*done.Result.GroupCount, groups[0].Size, groups[1].Size})
	require.Equal(t, alone, done.Result.Groups[1].NodeID)
	require.Zero(t, done.Written)
	path, _ = queueAnalysis(t, s, `{"algorithm":"communities","entityTypes":[],"relationTypes":["none"]}`)
	done = awaitAnalysis(t, s, path)
	require.Equal(t, 5, *done.Result.GroupCount)
	require.Zero(t, *done.Result.Modularity)
	path, _ = queueAnalysis(t, s, `{"algorithm":"degree","direction":"in"}`)
	done = awaitAnalysis(t, s, path)
	require.EqualValues(t, 3, done.Result.Top[0].Value)

	list := s.Do(t, contract.Request{Path: analysesPath + "?limit=2&offset=1"})
	items := decode[[]analysisItem](t, list, http.StatusOK)
	require.EqualValues(t, 4, list.Meta.Total)
	require.Equal(t, []string{"communities", "components"}, []string{items[0].Algorithm, items[1].Algorithm})
	require.Nil(t, items[0].Result)
	empty := s.Do(t, contract.Request{Path: analysesPath + "?offset=9223372036854775807"})
	require.Empty(t, decode[[]analysisItem](t, empty, http.StatusOK))
}

func TestAnalysesAreQueuedOnceAndCancelled(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.Analyses)
	key := map[string]string{"Idempotency-Key": "a"}
	first := analyze(t, s, `{"algorithm":"degree"}`, key)
	queued := decode[analysisItem](t, first, http.StatusAccepted)
	again := analyze(t, s, `{"algorithm":"degree"}`, key)
	require.Equal(t, queued, decode[analysisItem](t, again, http.StatusAccepted))
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, first.Header.Get("Location"), again.Header.Get("Location"))
	requireRefused(t, analyze(t, s, `{"algorithm":"components"}`, key), http.StatusUnprocessableEntity, "Idempotency-Key")

	path := analysesPath + "/" + queued.ID
	cancel := contract.Request{Method: http.MethodPost, Path: path + "/cancel"}
	for range 2 {
		cancelled := decode[analysisItem](t, s.Do(t, cancel), http.StatusOK)
		require.Equal(t, "cancelled", cancelled.State)
		require.NotNil(t, cancelled.FinishedAt)
	}
	tag := s.Do(t, contract.Request{Path: path}).Header.Get("ETag")
	cached := s.Do(t, contract.Request{Path: path, Header: map[string]string{"If-None-Match": tag}})
	require.Equal(t, http.StatusNotModified, cached.Status)
	for range 10 {
		queueAnalysis(t, s, `{"algorithm":"degree"}`)
	}
	full := analyze(t, s, `{"algorithm":"degree"}`, nil)
	require.Equal(t, http.StatusConflict, full.Status)
	require.Contains(t, string(full.Body), "too_many_analyses")
	for _, unknown := range []string{"0194a5b0-0000-7000-8000-00000000000a", "x"} {
		require.Equal(t, http.StatusNotFound, s.Do(t, contract.Request{Path: analysesPath + "/" + unknown}).Status)
		require.Equal(t, http.StatusNotFound, s.Do(t, contract.Request{
			Method: http.MethodPost, Path: analysesPath + "/" + unknown + "/cancel",
		}).Status)
	}
}

// requireRefused requires that a request was refused because of a field.
func requireRefused(t *testing.T, a *contract.Answer, status int, field string) {
	t.Helper()
	require.Equal(t, status, a.Status, "%s", a.Body)
	require.Equal(t, field, a.Error.Details["field"], "%s", a.Body)
}

func TestAnAnalysisThatWritesRequiresTheScope(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.Analyses)
	_, writes := queueAnalysis(t, s, `{"algorithm":"degree","property":"p"}`)
	reader := s.NewKey(t, []uuid.UUID{s.Workspace}, request.ReadNodes, request.ReadEdges)
	do := func(method, path, body string) *contract.Answer {
		return s.Do(t, contract.Request{Method: method, Path: path, Body: body, Key: reader})
	}
	require.Equal(t, http.StatusAccepted, do(http.MethodPost, analysesPath, `{"algorithm":"degree"}`).Status)
	refused := do(http.MethodPost, analysesPath, `{"algorithm":"degree","property":"p"}`)
	require.Equal(t, http.StatusForbidden, refused.Status)
	require.Contains(t, string(refused.Body), "write:nodes")
	require.Equal(t, http.StatusForbidden, do(http.MethodPost, analysesPath+"/"+writes.ID+"/cancel", "").Status)
	require.Equal(t, http.StatusOK, do(http.MethodGet, analysesPath+"/"+writes.ID, "").Status)
}

func TestInvalidAnalysesAreRefused(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.Analyses)
	long := strings.Repeat("x", 129)
	tooMany := strings.Repeat(`,"actor"`, len(graph.EntityTypes()))
	for _, c := range []struct {
		body, field string
		status      int
	}{
		{`{}`, "algorithm", 400},
		{`{"algorithm":null}`, "algorithm", 400},
		{`{"algorithm":1}`, "algorithm", 400},
		{`{"algorithm":"degree","nodes":1}`, "nodes", 400},
		{`{"algorithm":"degree","entityTypes":"actor"}`, "entityTypes", 400},
		{`{"algorithm":"Degree"}`, "algorithm", 422},
		{`{"algorithm":""}`, "algorithm", 422},
		{`{"algorithm":"degree","direction":"up"}`, "direction", 422},
		{`{"algorithm":"components","direction":"out"}`, "direction", 422},
		{`{"algorithm":"communities","direction":"both"}`, "direction", 422},
		{`{"algorithm":"components","weight":"w"}`, "weight", 422},
		{`{"algorithm":"degree","damping":0.5}`, "damping", 422},
		{`{"algorithm":"pagerank","damping":1}`, "damping", 422},
		{`{"algorithm":"pagerank","damping":-0.1}`, "damping", 422},
		{`{"algorithm":"pagerank","damping":1e400}`, "damping", 422},
		{`{"algorithm":"degree","entityTypes":["person"]}`, "entityTypes[0]", 422},
		{`{"algorithm":"degree","entityTypes":["actor"` + tooMany + `]}`, "entityTypes", 422},
		{`{"algorithm":"degree","relationTypes":[""]}`, "relationTypes[0]", 422},
		{`{"algorithm":"degree","relationTypes":["` + long + `"]}`, "relationTypes[0]", 422},
		{`{"algorithm":"degree","relationTypes":[` + strings.Repeat(`"a",`, 100) + `"a"]}`, "relationTypes", 422},
		{`{"algorithm":"degree","weight":""}`, "weight", 422},
		{`{"algorithm":"degree","property":""}`, "property", 422},
		{`{"algorithm":"degree","property":"` + long + `"}`, "property", 422},
		{`{"algorithm":"degree","property":"a\u0000"}`, "property", 422},
		{`{"algorithm":"degree","property":"a\nb"}`, "property", 422},
	} {
		requireRefused(t, analyze(t, s, c.body, nil), c.status, c.field)
	}
	list := s.Do(t, contract.Request{Path: analysesPath})
	require.Zero(t, list.Meta.Total)
	require.Equal(t, http.StatusBadRequest, s.Do(t, contract.Request{Path: analysesPath + "?state=done"}).Status)
}
