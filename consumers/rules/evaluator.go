package rules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/internal/services/rulefile"
	"github.com/livegraph/livegraph/internal/services/rulestate"
)

// As in Prometheus: the maximum age of the series from which the time that an alert is pending is restored, the
// shortest such time that is restored, and the time after which an Alertmanager gets an alert again.
const (
	outageTolerance = time.Hour
	forGracePeriod  = 10 * time.Minute
	resendDelay     = time.Minute
)

const (
	stateInterval = 2 * time.Second // between two writes of the state
	// concurrentRules is the maximum number of rules of a workspace that are evaluated at the same time, beside one of
	// each group. Rules that read what others of their group record wait for these.
	concurrentRules = 4
	// maxSeries is the maximum number of series that a recording rule records, and maxTemplateSeries that of a query
	// in a template.
	maxSeries         = 10_000
	maxTemplateSeries = 100
)

// evaluator evaluates the rules of one workspace.
type evaluator struct {
	*Runner
	workspace uuid.UUID
	logger    *slog.Logger
	files     rulefile.Loader // of the last update
	manager   *rules.Manager
	alerts    *record
	sender    *sender
	dirty     chan struct{} // has an element if the state changed since it was stored
}

func (r *Runner) newEvaluator(workspace uuid.UUID, logger *slog.Logger) *evaluator {
	return &evaluator{
		Runner: r, workspace: workspace, logger: logger, sender: newSender(r, workspace, logger),
		dirty: make(chan struct{}, 1),
	}
}

// run evaluates until ctx is done, and loads the files again when they have changed.
func (e *evaluator) run(ctx context.Context, changes <-chan struct{}) error {
	recorded, err := e.Store.FiringAlerts(ctx, e.workspace)
	if err != nil {
		return err
	}
	e.alerts = newRecord(recorded)
	group, ctx := errgroup.WithContext(ctx)
	e.manager = rules.NewManager(e.managerOptions(ctx))
	group.Go(func() error { e.manager.Run(); return nil })
	group.Go(func() error { e.sender.run(ctx); return nil })
	group.Go(func() error { e.saveStates(ctx); return nil })
	group.Go(func() error {
		defer e.manager.Stop()
		for {
			if err := e.load(ctx); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-changes:
			}
		}
	})
	return group.Wait()
}

func (e *evaluator) managerOptions(ctx context.Context) *rules.ManagerOptions {
	return &rules.ManagerOptions{
		Context: ctx, ExternalURL: &url.URL{}, Logger: slog.New(slog.DiscardHandler),
		QueryFunc: e.query, NotifyFunc: e.sender.notify,
		Appendable: appendable{e}, Queryable: queryable{e},
		OutageTolerance: outageTolerance, ForGracePeriod: forGracePeriod, ResendDelay: resendDelay,
		ConcurrentEvalsEnabled: true, MaxConcurrentEvals: concurrentRules,
		GroupLoader: &e.files, DefaultRuleQueryOffset: func() time.Duration { return e.QueryOffset },
	}
}

// load loads the files. Groups that did not change go on, as do the alerts of rules that stay.
func (e *evaluator) load(ctx context.Context) error {
	stored, err := e.Store.RuleFiles(ctx, e.workspace)
	if err != nil {
		return err
	}
	e.files = make(map[string]*rulefmt.RuleGroups, len(stored))
	var names []string
	for i := range stored {
		groups, err := rulefile.Decode([]byte(stored[i].Content))
		if err != nil { // an older version accepted it
			e.logger.Warn("a file of rules cannot be read and is left out", "file", stored[i].Name, "error", err)
			continue
		}
		e.files[stored[i].Name] = groups
		names = append(names, stored[i].Name)
	}
	if err := e.manager.Update(e.Interval, names, labels.EmptyLabels(), "", e.iterate); err != nil {
		return fmt.Errorf("loading rules: %w", err)
	}
	if err := e.resolveRemoved(ctx); err != nil {
		return err
	}
	e.changed()
	return nil
}

// groupKey is the key of the group in the context of its evaluation.
type groupKey struct{}

// iterate evaluates a group once.
func (e *evaluator) iterate(ctx context.Context, g *rules.Group, at time.Time) {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-e.slots }()
	if last := g.GetLastEvalTimestamp(); !last.IsZero() {
		e.metrics.missed.Add(max(0, float64(at.Sub(last)/g.Interval()-1)))
	}
	rules.DefaultEvalIterationFunc(context.WithValue(ctx, groupKey{}, g), g, at)
	if ctx.Err() != nil {
		return
	}
	e.metrics.duration.Observe(time.Since(at).Seconds())
	for _, r := range g.Rules() {
		e.metrics.evaluations.Inc()
		if r.Health() == rules.HealthBad {
			e.metrics.failed.Inc()
		}
	}
	if err := e.recordAlerts(ctx, g); err != nil && ctx.Err() == nil {
		e.logger.Warn("alerts are not recorded, the next evaluation tries again", "error", err)
	}
	e.changed()
}

// changed requests that the state is stored.
func (e *evaluator) changed() {
	select {
	case e.dirty <- struct{}{}:
	default:
	}
}

// saveStates stores the state after it changed, until ctx is done.
func (e *evaluator) saveStates(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.dirty:
		}
		state, err := rulestate.Encode(rulestate.Of(e.manager.RuleGroups()))
		if err == nil {
			err = e.Store.SaveRuleState(ctx, e.workspace, state)
		}
		if err != nil && ctx.Err() == nil {
			e.logger.Warn("the state of rules is not stored", "error", err)
			e.changed()
		}
		if !sleep.For(ctx, stateInterval) {
			return
		}
	}
}

// query evaluates the expression of a rule, or a query in a template.
func (e *evaluator) query(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
	result, err := rules.EngineQueryFunc(e.engine, e.Series.Query(e.workspace, time.Now()))(ctx, text, at)
	if err != nil {
		return nil, e.publicError(err)
	}
	detail := rules.FromOriginContext(ctx)
	limit, what := maxSeries, "a recording rule may record"
	switch {
	case detail.Query != text:
		limit, what = maxTemplateSeries, "a query in a template may have"
	case detail.Kind == rules.KindAlerting:
		limit, what = rulefile.MaxAlerts, "an alerting rule may have"
	}
	if len(result) > limit {
		return nil, fmt.Errorf("the result has %d series, %s at most %d: aggregate or select fewer", len(result), what, limit)
	}
	return result, nil
}

// publicError returns an error whose text may be shown in the API. It logs what is hidden.
func (e *evaluator) publicError(err error) error {
	var known *fault.Error
	if errors.As(e.Engine.PublicError(err), &known) && known.Kind != fault.Internal {
		return errors.New(known.Message)
	}
	e.logger.Error("a rule cannot be evaluated", "error", err)
	return errors.New("an internal error; the log of the service has the cause")
}

// queryable is the storage from which the state of alerts is restored.
type queryable struct{ *evaluator }

// Querier returns a querier of a time range in milliseconds.
func (q queryable) Querier(from, to int64) (storage.Querier, error) {
	return q.Series.Query(q.workspace, time.Now()).Querier(from, to)
}
