package analyses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/analyses"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/analysis"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/consumertest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const waitTimeout = time.Minute

// fixture is a database and a log with a running consumer of commands.
type fixture struct {
	*testing.T
	db    *stores.DB
	log   *kafka.Client
	actor uuid.UUID
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	broker := kafkatest.NewKFake(t)
	db := consumertest.OpenDatabase(t, pgtest.Migrated(t), 12)
	f := &fixture{T: t, db: db, log: consumertest.OpenLog(t, broker, db, 1), actor: uuid.New()}
	consumertest.RunCommands(t, broker, f.log, db)
	return f
}

// hookedLog calls a function before each record that a runner writes.
type hookedLog struct {
	*kafka.Client
	before func(kafka.Record) error
}

func (l *hookedLog) ProduceCommand(ctx context.Context, record kafka.Record) error {
	if err := l.before(record); err != nil {
		return err
	}
	return l.Client.ProduceCommand(ctx, record)
}

func config() analyses.Config {
	return analyses.Config{
		Graph: analysis.Limits{Nodes: 100, Edges: 100}, Timeout: time.Minute, Interval: 5 * time.Millisecond,
		Lease: 2 * time.Second, BatchNodes: 2,
	}
}

// start runs a runner until stop or the end of the test. before may be nil.
func (f *fixture) start(cfg analyses.Config, before func(kafka.Record) error) (stop func()) {
	f.Helper()
	if before == nil {
		before = func(kafka.Record) error { return nil }
	}
	return testenv.RunInBackground(f.T, analyses.New(analyses.Deps{
		Log: &hookedLog{f.log, before}, Store: f.db, Config: cfg, Logger: testenv.Logger(),
	}).Run)
}

// graph creates a workspace with nodes 0 to n-1, and edges between some of them, of type "links".
func (f *fixture) graph(n int, edges ...[2]int) uuid.UUID {
	f.Helper()
	workspace := consumertest.NewWorkspace(f.T, f.db)
	var payloads []graph.Payload
	for i := range n {
		kind := graph.Object
		if i%2 == 1 {
			kind = graph.Actor
		}
		payloads = append(payloads, graph.CreateNode{ID: node(i), Name: fmt.Sprint("node ", i), EntityType: kind})
	}
	for i, e := range edges {
		payloads = append(payloads, graph.CreateEdge{
			ID: uuid.New(), SourceID: node(e[0]), TargetID: node(e[1]), RelationType: "links",
			Properties: fmt.Appendf(nil, `{"w":%d,"text":"5"}`, i),
		})
	}
	f.do(workspace, payloads...)
	return workspace
}

func (f *fixture) do(workspace uuid.UUID, payloads ...graph.Payload) {
	f.Helper()
	consumertest.Do(f.T, f.log, f.db, workspace, f.actor, payloads...)
}

func node(i int) uuid.UUID { return uuid.UUID{15: byte(i)} }

func (f *fixture) queue(workspace uuid.UUID, spec analysis.Spec) uuid.UUID {
	f.Helper()
	job, err := f.db.CreateAnalysis(f.Context(), &jobs.Analysis{
		Workspace: workspace, ID: uuid.New(), Spec: spec,
		Origin: graph.Origin{Actor: f.actor, Scopes: []string{"write:nodes"}, RequestID: "req_analysis"},
	}, nil, nil)
	require.NoError(f, err)
	return job.ID
}

func degree(property string) analysis.Spec {
	both := analysis.Both
	s := analysis.Spec{Algorithm: analysis.DegreeAlgorithm, Direction: &both}
	if property != "" {
		s.Property = &property
	}
	return s
}

// await waits until an analysis is in a state, and returns it.
func (f *fixture) await(workspace, id uuid.UUID, state jobs.AnalysisState) jobs.Analysis {
	f.Helper()
	var job jobs.Analysis
	require.Eventually(f, func() bool {
		var err error
		job, err = f.db.Analysis(f.Context(), workspace, id)
		require.NoError(f, err)
		return job.State == state
	}, waitTimeout, 5*time.Millisecond, "the analysis is %s", state)
	return job
}

// properties returns the property of each node that has it, by its number.
func (f *fixture) properties(workspace uuid.UUID, n int, property string) map[int]string {
	f.Helper()
	var ids []uuid.UUID
	for i := range n {
		ids = append(ids, node(i))
	}
	nodes, err := f.db.TopologyNodes(f.Context(), workspace, ids, property)
	require.NoError(f, err)
	found := map[int]string{}
	for i := range n {
		if text := nodes[node(i)].Property; text != "" {
			found[i] = text
		}
	}
	return found
}

func TestResultsAreWrittenToNodesWhoseValueDiffers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(config(), nil)
	workspace := f.graph(5, [2]int{0, 1}, [2]int{0, 2}, [2]int{3, 3})
	other := f.graph(5, [2]int{1, 2})
	f.do(workspace, graph.UpdateNode{ID: node(1), Properties: []byte(`{"degree":1.0,"kept":true}`)})
	before, err := f.db.Node(t.Context(), workspace, node(1))
	require.NoError(t, err)

	id := f.queue(workspace, degree("degree"))
	job := f.await(workspace, id, jobs.AnalysisDone)

	require.Equal(t, map[int]string{0: "2", 1: "1", 2: "1", 3: "2", 4: "0"}, f.properties(workspace, 5, "degree"))
	require.Empty(t, f.properties(other, 5, "degree"))
	require.EqualValues(t, 5, job.Nodes)
	require.EqualValues(t, 3, job.Edges)
	require.EqualValues(t, 9, *job.Sequence)
	require.EqualValues(t, []int64{4, 1, 0}, []int64{job.Written, job.Unchanged, job.Skipped})
	require.Equal(t, []analysis.RankedNode{
		{NodeID: node(0), Value: 2}, {NodeID: node(3), Value: 2}, {NodeID: node(1), Value: 1}, {NodeID: node(2), Value: 1},
		{NodeID: node(4), Value: 0},
	}, job.Result.Top)
	after, err := f.db.Node(t.Context(), workspace, node(1))
	require.NoError(t, err)
	require.Equal(t, before.Version, after.Version)

	// Another one has nothing to write. The results are undone as batches of the actor who requested them.
	again := f.await(workspace, f.queue(workspace, degree("degree")), jobs.AnalysisDone)
	require.EqualValues(t, []int64{0, 5, 0}, []int64{again.Written, again.Unchanged, again.Skipped})
	require.EqualValues(t, *job.Sequence+2, *again.Sequence)
	f.do(workspace, graph.Undo{})
	require.Equal(t, map[int]string{0: "2", 1: "1", 2: "1"}, f.properties(workspace, 5, "degree"))
}

func TestAnAnalysisSelectsNodesAndEdges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(config(), nil)
	workspace := f.graph(6, [2]int{0, 2}, [2]int{2, 4}, [2]int{0, 1}, [2]int{1, 3})
	f.do(workspace, graph.CreateEdge{ID: uuid.New(), SourceID: node(4), TargetID: node(0), RelationType: "other"},
		graph.DeleteNode{ID: node(5)})
	run := func(change func(*analysis.Spec)) jobs.Analysis {
		spec := degree("")
		change(&spec)
		return f.await(workspace, f.queue(workspace, spec), jobs.AnalysisDone)
	}

	job := run(func(s *analysis.Spec) { s.EntityTypes = []string{"object"} })
	require.EqualValues(t, []int64{3, 3}, []int64{job.Nodes, job.Edges})
	job = run(func(s *analysis.Spec) { s.EntityTypes, s.RelationTypes = []string{"object"}, []string{"links"} })
	require.EqualValues(t, []int64{3, 2}, []int64{job.Nodes, job.Edges})
	weight := "w"
	job = run(func(s *analysis.Spec) { s.Weight = &weight })
	require.EqualValues(t, []int64{5, 4}, []int64{job.Nodes, job.Edges}, "an edge without a weight is not read")
	require.Equal(t, analysis.RankedNode{NodeID: node(1), Value: 5}, job.Result.Top[0])
	text := "text"
	job = run(func(s *analysis.Spec) { s.Weight = &text })
	require.Zero(t, job.Edges)
	job = run(func(s *analysis.Spec) { s.Algorithm, s.Direction = analysis.ComponentsAlgorithm, nil })
	require.Equal(t, []analysis.Group{{Group: 0, Size: 5, NodeID: node(0)}}, job.Result.Groups)
	job = run(func(s *analysis.Spec) { s.Algorithm, s.Direction = analysis.CommunitiesAlgorithm, nil })
	require.NotNil(t, job.Result.Modularity)
	require.Equal(t, len(job.Result.Groups), *job.Result.GroupCount)
}

func TestNodesThatChangedMeanwhileAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	workspace := f.graph(6, [2]int{0, 1})
	f.do(workspace, graph.UpdateNode{ID: node(5), Properties: manyProperties()})
	var records atomic.Int32
	cfg := config()
	cfg.BatchNodes = 6
	f.start(cfg, func(kafka.Record) error {
		if records.Add(1) == 1 { // after the graph was read
			name := "changed"
			f.do(workspace, graph.UpdateNode{ID: node(0), Name: &name}, graph.DeleteNode{ID: node(2)},
				graph.UpdateNode{ID: node(3), Properties: []byte(`{"degree":0}`)})
		}
		return nil
	})

	job := f.await(workspace, f.queue(workspace, degree("degree")), jobs.AnalysisDone)

	require.Equal(t, map[int]string{1: "1", 3: "0", 4: "0"}, f.properties(workspace, 6, "degree"))
	require.EqualValues(t, []int64{2, 1, 3}, []int64{job.Written, job.Unchanged, job.Skipped})
}

// manyProperties returns as many properties as a node may have.
func manyProperties() []byte {
	all := map[string]int{}
	for i := range graph.MaxKeys {
		all[fmt.Sprint(i)] = i
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return encoded
}

// TestARunThatDiedIsFollowedByAnother stops a run in the middle of writing, as a process that is killed: it neither
// releases its claim nor writes on. Its last batch is written to the log only after another run has written its
// results.
func TestARunThatDiedIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	workspace := f.graph(7, [2]int{0, 1})
	held := make(chan kafka.Record, 1)
	ctx, kill := context.WithCancel(t.Context())
	var records atomic.Int32
	dying := make(chan struct{})
	runner := analyses.New(analyses.Deps{
		Store: f.db, Config: config(), Logger: testenv.Logger(),
		Log: &hookedLog{f.log, func(record kafka.Record) error {
			if records.Add(1) < 3 {
				return nil
			}
			held <- record
			<-dying
			return context.Canceled
		}},
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = runner.Run(ctx)
	}()
	id := f.queue(workspace, degree("degree"))
	record := <-held
	job, err := f.db.Analysis(t.Context(), workspace, id)
	require.NoError(t, err)
	require.Equal(t, jobs.AnalysisRunning, job.State)
	require.Equal(t, jobs.PhaseWriting, *job.Phase)
	// The process dies: what it knows is lost, and its claim runs out.
	_, err = f.db.Pool().Exec(t.Context(), `UPDATE analyses SET lease_until = now(), claim = $1`, uuid.New())
	require.NoError(t, err)
	f.start(config(), nil)
	job = f.await(workspace, id, jobs.AnalysisDone)
	require.Equal(t, 2, job.Runs)
	for i := range 7 {
		n, err := f.db.Node(t.Context(), workspace, node(i))
		require.NoError(t, err)
		require.EqualValues(t, 2, n.Version, "node %d is written once", i)
	}

	// The late batch has no effect, also where somebody else has changed a value of it.
	f.do(workspace, graph.UpdateNode{ID: node(4), Properties: []byte(`{"degree":7}`)})
	sequence := f.sequence(workspace)
	require.NoError(t, f.log.ProduceCommand(t.Context(), record))
	f.do(workspace, graph.CreateNode{ID: node(20), Name: "next", EntityType: graph.Object})
	require.Equal(t, sequence+1, f.sequence(workspace))
	require.Equal(t, map[int]string{0: "1", 1: "1", 2: "0", 3: "0", 4: "7", 5: "0", 6: "0"},
		f.properties(workspace, 7, "degree"))
	close(dying)
	kill()
	<-ended
	after, err := f.db.Analysis(t.Context(), workspace, id)
	require.NoError(t, err)
	require.Equal(t, job, after, "the run that lost its claim changes nothing")
}

// sequence returns the sequence of a workspace's newest change.
func (f *fixture) sequence(workspace uuid.UUID) (sequence int64) {
	f.Helper()
	require.NoError(f, f.db.Pool().QueryRow(
		f.Context(), `SELECT sequence FROM graph_heads WHERE workspace_id = $1`, workspace,
	).Scan(&sequence))
	return sequence
}

func TestACancelledAnalysisWritesNoMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	workspace := f.graph(7, [2]int{0, 1})
	id := make(chan uuid.UUID, 1)
	var records atomic.Int32
	f.start(config(), func(kafka.Record) error {
		if records.Add(1) == 2 {
			_, err := f.db.CancelAnalysis(t.Context(), workspace, <-id)
			return err
		}
		return nil
	})
	cancelled := f.queue(workspace, degree("degree"))
	id <- cancelled
	job := f.await(workspace, cancelled, jobs.AnalysisCancelled)
	require.NotNil(t, job.FinishedAt)
	// The runner goes on with the next one, whose numbers show what the cancelled one wrote.
	next := f.await(workspace, f.queue(workspace, degree("degree")), jobs.AnalysisDone)
	require.EqualValues(t, []int64{3, 4}, []int64{next.Written, next.Unchanged})
	again, err := f.db.CancelAnalysis(t.Context(), workspace, cancelled)
	require.NoError(t, err)
	require.Equal(t, jobs.AnalysisCancelled, again.State)
	_, err = f.db.CancelAnalysis(t.Context(), workspace, next.ID)
	require.True(t, fault.Is(err, fault.Conflict))
	_, err = f.db.CancelAnalysis(t.Context(), uuid.New(), next.ID)
	require.True(t, fault.Is(err, fault.NotFound))
}

func TestAnalysesHaveLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	workspace := f.graph(4, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3})
	failure := func(change func(*analyses.Config)) string {
		cfg := config()
		change(&cfg)
		id := f.queue(workspace, degree("degree"))
		stop := f.start(cfg, func(kafka.Record) error { return fault.New(fault.Unavailable, "the log is unavailable") })
		job := f.await(workspace, id, jobs.AnalysisFailed)
		stop()
		require.Zero(t, job.Written)
		return *job.Error
	}
	require.Equal(t, "The graph has more than 3 nodes to read. Select fewer with entityTypes.",
		failure(func(c *analyses.Config) { c.Graph.Nodes = 3 }))
	require.Equal(t, "The graph has more than 2 edges to read. Select fewer with relationTypes or entityTypes.",
		failure(func(c *analyses.Config) { c.Graph.Edges = 2 }))
	require.Contains(t, failure(func(c *analyses.Config) { c.Timeout = 300 * time.Millisecond }),
		"It took longer than 300ms.")

	id := f.queue(workspace, degree("degree"))
	_, err := f.db.Pool().Exec(t.Context(), `UPDATE analyses SET runs = 3 WHERE id = $1`, id)
	require.NoError(t, err)
	f.start(config(), nil)
	require.Contains(t, *f.await(workspace, id, jobs.AnalysisFailed).Error, "It was interrupted 3 times")
}

func TestARunThatEndsWithItsProcessIsReleased(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	workspace := f.graph(3)
	writing := make(chan struct{}, 100)
	stop := f.start(config(), func(kafka.Record) error {
		writing <- struct{}{}
		return fault.New(fault.Unavailable, "the log is unavailable")
	})
	id := f.queue(workspace, degree("degree"))
	<-writing
	stop()
	job := f.await(workspace, id, jobs.AnalysisQueued)
	require.Zero(t, job.Runs)
	f.start(config(), nil)
	require.EqualValues(t, 3, f.await(workspace, id, jobs.AnalysisDone).Written)
}
