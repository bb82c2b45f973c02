package analyses

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph/analysis"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/topology"
)

// Causes for which a run ends before its analysis is done.
var (
	errInterrupted = fault.Newf(fault.Invalid, "It was interrupted %d times, because its process ended unexpectedly. "+
		"Select fewer nodes with entityTypes, or fewer edges with relationTypes.", maxRuns)
	errTooOld  = fault.Newf(fault.Invalid, "It was not done within %s, because a store was unavailable.", maxAge)
	errTimeout = errors.New("the time limit of a run has passed")
)

// run is one run of an analysis.
type run struct {
	*Runner
	job    *jobs.Analysis
	claim  jobs.AnalysisClaim
	logger *slog.Logger

	mu       sync.Mutex
	progress jobs.AnalysisProgress
}

// runJob runs a claimed analysis. It reports whether the run was interrupted by a store that is unavailable.
func (r *Runner) runJob(ctx context.Context, job *jobs.Analysis, claim uuid.UUID) (interrupted bool) {
	started := time.Now()
	current := &run{
		Runner: r, job: job, claim: jobs.AnalysisClaim{Workspace: job.Workspace, ID: job.ID, Claim: claim},
		logger:   r.logger.With("analysis", job.ID, "workspace", job.Workspace, "algorithm", string(job.Spec.Algorithm)),
		progress: job.AnalysisProgress,
	}
	current.logger.Info("analysis begins", "run", job.Runs)
	limited, stop := context.WithTimeoutCause(ctx, r.deps.Config.Timeout, errTimeout)
	defer stop()
	working, end := context.WithCancelCause(limited)
	var saving sync.WaitGroup
	saving.Go(func() { end(current.saveUntilDone(working)) })
	err := current.work(working)
	if cause := context.Cause(working); cause != nil && err != nil {
		err = cause // what the work returns then is only a consequence
	}
	end(nil)
	saving.Wait()
	outcome := current.end(ctx, err)
	r.metrics.observe(job.Spec.Algorithm, outcome, time.Since(started))
	return outcome == outcomeInterrupted
}

// end ends the run of an analysis, and returns its outcome.
func (r *run) end(ctx context.Context, err error) string {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	p := r.current()
	switch {
	case errors.Is(err, jobs.ErrAnalysisTaken), errors.Is(err, lease.ErrExpired):
		r.logger.Info("analysis is cancelled, or another process continues it", "reason", err)
		return outcomeStopped
	case err == nil:
		r.log(r.deps.Store.FinishAnalysis(ending, r.claim, &p, ""))
		r.logger.Info("analysis is done", "nodes", p.Nodes, "edges", p.Edges, "written", p.Written, "skipped", p.Skipped)
		return outcomeDone
	case ctx.Err() != nil, fault.Is(err, fault.Unavailable):
		r.logger.Info("analysis is interrupted", "reason", err)
		r.log(r.deps.Store.ReleaseAnalysis(ending, r.claim))
		return outcomeInterrupted
	}
	problem, expected := r.problem(err)
	if !expected {
		r.logger.Error("analysis failed", "error", err)
	}
	r.log(r.deps.Store.FinishAnalysis(ending, r.claim, &p, problem))
	return outcomeFailed
}

func (r *run) log(err error) {
	if err != nil {
		r.logger.Warn("the end of an analysis could not be stored; another run follows", "error", err)
	}
}

// problem returns the reason of a failure for clients. expected is false for a defect.
func (r *run) problem(err error) (text string, expected bool) {
	var limit *analysis.LimitError
	var public *fault.Error
	switch {
	case errors.As(err, &limit) && limit.What == "nodes":
		return fmt.Sprintf("The graph has more than %d nodes to read. Select fewer with entityTypes.", limit.Limit), true
	case errors.As(err, &limit):
		return fmt.Sprintf("The graph has more than %d edges to read. Select fewer with relationTypes or entityTypes.",
			limit.Limit), true
	case errors.Is(err, errTimeout):
		return fmt.Sprintf("It took longer than %s. Select fewer nodes with entityTypes, or fewer edges with "+
			"relationTypes.", r.deps.Config.Timeout), true
	case fault.Is(err, fault.Timeout):
		return "A store did not respond in time.", false
	case errors.As(err, &public) && public.Kind == fault.Invalid:
		return public.Message, true
	}
	return "Internal error", false
}

// saveUntilDone stores the progress and extends the claim until ctx is done. It returns the reason why the run must
// stop, nil if ctx is done.
func (r *run) saveUntilDone(ctx context.Context) error {
	interval := r.deps.Config.Lease / savesPerLease
	return lease.Keep(ctx, interval, r.deps.Config.Lease-interval, time.Now(), func(ctx context.Context) (bool, error) {
		err := r.save(ctx)
		return !errors.Is(err, jobs.ErrAnalysisTaken), err
	})
}

// save stores the progress and extends the claim.
func (r *run) save(ctx context.Context) error {
	p := r.current()
	return r.deps.Store.SaveAnalysis(ctx, r.claim, &p, r.deps.Config.Lease)
}

func (r *run) current() jobs.AnalysisProgress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// update changes the progress.
func (r *run) update(change func(p *jobs.AnalysisProgress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.progress)
}

func (r *run) begin(phase jobs.AnalysisPhase) {
	r.update(func(p *jobs.AnalysisProgress) { p.Phase = &phase })
}

// work does the work of the analysis.
func (r *run) work(ctx context.Context) error {
	switch {
	case r.job.Runs > maxRuns:
		return errInterrupted
	case r.job.StartedAt != nil && time.Since(*r.job.StartedAt) > maxAge:
		return errTooOld
	}
	read, err := r.read(ctx)
	if err != nil {
		return err
	}
	r.begin(jobs.PhaseComputing)
	values, result, err := analysis.Run(ctx, read.graph, &r.job.Spec)
	if err != nil {
		return err
	}
	r.update(func(p *jobs.AnalysisProgress) { p.Result = &result })
	if r.job.Spec.Property == nil {
		return nil
	}
	r.begin(jobs.PhaseWriting)
	return r.write(ctx, read, values)
}

// readGraph is a graph that was read, with the state of the property that is to be written.
type readGraph struct {
	graph    *analysis.Graph
	versions []int64   // of each node
	current  []float64 // value of the property of each node, NaN if it is not a number
}

// reader builds a graph from what is read.
type reader struct {
	run     *run
	builder *analysis.Builder
	read    readGraph
	nodes   int64
	edges   int64
}

// countInterval is the number of nodes or edges after which the progress is updated.
const countInterval = 1000

func (r *run) read(ctx context.Context) (*readGraph, error) {
	spec := &r.job.Spec
	query := &topology.Query{EntityTypes: spec.EntityTypes, RelationTypes: spec.RelationTypes}
	if spec.Weight != nil {
		query.Weight = *spec.Weight
	}
	if spec.Property != nil {
		query.Property = *spec.Property
	}
	b := &reader{run: r, builder: analysis.NewBuilder(r.deps.Config.Graph, spec.Weight != nil)}
	if err := r.deps.Store.ReadTopology(ctx, r.job.Workspace, query, b); err != nil {
		return nil, err
	}
	b.read.graph = b.builder.Graph()
	b.count()
	return &b.read, nil
}

// count updates the progress.
func (b *reader) count() {
	b.run.update(func(p *jobs.AnalysisProgress) { p.Nodes, p.Edges = b.nodes, b.edges })
}

// Begin implements topology.Visitor.
func (b *reader) Begin(whole topology.Extent) error {
	b.run.update(func(p *jobs.AnalysisProgress) { p.Sequence = &whole.Sequence })
	b.builder.Reserve(whole.Nodes, whole.Edges)
	return nil
}

// Node implements topology.Visitor.
func (b *reader) Node(n *topology.Node) error {
	if err := b.builder.AddNode(n.ID); err != nil {
		return err
	}
	if b.run.job.Spec.Property != nil {
		b.read.versions, b.read.current = append(b.read.versions, n.Version), append(b.read.current, number(n.Property))
	}
	if b.nodes++; b.nodes%countInterval == 0 {
		b.count()
	}
	return nil
}

// Edge implements topology.Visitor.
func (b *reader) Edge(e *topology.Edge) error {
	weight := 1.0
	if b.run.job.Spec.Weight != nil {
		parsed, ok := analysis.ParseWeight(e.Weight)
		if !ok {
			return nil
		}
		weight = parsed
	}
	added, err := b.builder.AddEdge(e.Source, e.Target, weight)
	if err != nil || !added {
		return err
	}
	if b.edges++; b.edges%countInterval == 0 {
		b.count()
	}
	return nil
}

// number returns the number that a JSON text is, NaN if it is none.
func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return value
}
