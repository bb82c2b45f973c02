package analyses

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/topology"
)

const (
	maxBatchNodes = graph.MaxBatch
	// maxAttempts is how often a batch is sent without the nodes that had conflicts before.
	maxAttempts = 10
	// outcomeInterval is how often the outcome of a batch is looked up.
	outcomeInterval = 50 * time.Millisecond
	// produceRetryInterval is the pause after the log did not accept a batch.
	produceRetryInterval = time.Second
)

// change is a property of a node to write.
type change struct {
	node    uuid.UUID
	version int64
	value   float64
}

// write writes the values that differ from those that were read, in batches. Each batch is one change of the graph and
// one step of undo.
func (r *run) write(ctx context.Context, read *readGraph, values []float64) error {
	var batch []change
	number := 0
	send := func() error {
		number++
		pending := batch
		batch = batch[:0]
		return r.writeBatch(ctx, number, pending)
	}
	for i, value := range values {
		if read.current[i] == value {
			r.update(func(p *jobs.AnalysisProgress) { p.Unchanged++ })
			continue
		}
		batch = append(batch, change{read.graph.IDs[i], read.versions[i], value})
		if len(batch) == r.deps.Config.BatchNodes {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return send()
}

// writeBatch writes a batch. Nodes that were changed or deleted since they were read, or whose properties would break a
// limit, are left out.
func (r *run) writeBatch(ctx context.Context, number int, pending []change) error {
	for attempt := 0; len(pending) > 0 && attempt < maxAttempts; attempt++ {
		if err := r.save(ctx); err != nil { // it fails if the analysis is cancelled
			return err
		}
		name := fmt.Sprintf("%d/%d/%d", r.job.Runs, number, attempt)
		refused, err := r.submit(ctx, uuid.NewSHA1(r.claim.Claim, []byte(name)), pending)
		if err != nil {
			return err
		}
		if refused == nil {
			r.written(len(pending))
			return nil
		}
		if pending, err = r.withoutConflicts(ctx, pending, refused); err != nil {
			return err
		}
	}
	r.update(func(p *jobs.AnalysisProgress) { p.Skipped += int64(len(pending)) })
	return nil
}

func (r *run) written(nodes int) {
	r.metrics.written.Add(float64(nodes))
	r.update(func(p *jobs.AnalysisProgress) { p.Written += int64(nodes) })
}

// withoutConflicts returns those of the changes of a refused batch that may still be made.
func (r *run) withoutConflicts(ctx context.Context, pending []change, refused *fault.Error) ([]change, error) {
	ids := make([]uuid.UUID, len(pending))
	for i, c := range pending {
		ids[i] = c.node
	}
	nodes, err := r.deps.Store.TopologyNodes(ctx, r.job.Workspace, ids, *r.job.Spec.Property)
	if err != nil {
		return nil, err
	}
	left := make([]change, 0, len(pending))
	invalid := -1
	if refused.Kind == fault.Invalid {
		invalid = indexIn(refused)
	}
	var skipped, unchanged int64
	for i, c := range pending {
		node, exists := nodes[c.node]
		switch {
		case exists && number(node.Property) == c.value:
			unchanged++
		case !exists, node.Version != c.version, i == invalid:
			skipped++
		default:
			left = append(left, c)
		}
	}
	r.update(func(p *jobs.AnalysisProgress) {
		p.Skipped += skipped
		p.Unchanged += unchanged
	})
	return left, nil
}

// indexIn returns the index of the command of a batch that an error is for, as in "commands[3].payload"; -1: none.
func indexIn(refused *fault.Error) int {
	field := fmt.Sprint(refused.Details["field"])
	digits, found := strings.CutPrefix(strings.Trim(field, `"`), "commands[")
	if !found {
		return -1
	}
	digits, _, _ = strings.Cut(digits, "]")
	index, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return index
}

// submit writes a batch to the log and waits for its outcome. It returns why the batch was refused, nil if it was
// applied.
func (r *run) submit(ctx context.Context, id uuid.UUID, changes []change) (refused *fault.Error, err error) {
	actions := make([]graph.Action, len(changes))
	for i, c := range changes {
		properties, err := json.Marshal(map[string]float64{*r.job.Spec.Property: c.value})
		if err != nil {
			return nil, fmt.Errorf("encoding a property: %w", err)
		}
		actions[i] = graph.Action{
			Payload: graph.UpdateNode{ID: c.node, Properties: properties}, ExpectedVersion: &changes[i].version,
		}
	}
	origin := r.job.Origin
	origin.AcceptedAt = time.Now().UTC().Truncate(time.Microsecond)
	encoded, err := graphrecord.EncodeRequest(&graphrecord.Request{
		Workspace: r.job.Workspace, Mode: graphrecord.Atomic, ID: id, Actions: actions, Origin: origin,
	})
	if err != nil {
		return nil, err
	}
	record := kafka.Record{Workspace: r.job.Workspace, Value: encoded, RequestID: origin.RequestID}
	for {
		err := r.deps.Log.ProduceCommand(ctx, record)
		if err == nil {
			return r.outcome(ctx, graphstore.CommandRef{Workspace: r.job.Workspace, ID: id})
		}
		// The id makes the batch have one effect, even if it is in the log twice.
		if !fault.Is(err, fault.Unavailable) || !sleep.For(ctx, sleep.Jitter(produceRetryInterval)) {
			return nil, err
		}
	}
}

// outcome waits for the outcome of a batch.
func (r *run) outcome(ctx context.Context, ref graphstore.CommandRef) (refused *fault.Error, err error) {
	for {
		found, err := r.deps.Store.CommandOutcomes(ctx, []graphstore.CommandRef{ref})
		if err != nil && !fault.Is(err, fault.Unavailable) {
			return nil, err
		}
		if encoded := found[ref]; encoded != nil {
			outcome, err := graphrecord.DecodeOutcome(encoded)
			if err != nil || outcome.GetFailure() == nil {
				return nil, err
			}
			refused = graphrecord.ToFault(outcome.GetFailure())
			switch refused.Kind {
			case fault.Conflict, fault.NotFound, fault.Invalid:
				return refused, nil
			}
			return nil, fmt.Errorf("a batch of results failed: %w", refused)
		}
		if !sleep.For(ctx, outcomeInterval) {
			return nil, context.Cause(ctx)
		}
	}
}

var _ topology.Visitor = (*reader)(nil)
