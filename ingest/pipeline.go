package ingest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/remotewrite"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/ingest/resolve"
	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/bufferpool"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// producer writes to the topic of points.
type producer interface {
	// ProducePoints sends each message to its partition and waits for all to be
	// acknowledged. The positions are those of the messages that were, even when
	// it fails. It may refer to the messages after an error, not after success.
	ProducePoints(ctx context.Context, requestID string, messages []pointblock.Message) ([]pointblock.Position, error)
}

// Limits bound what a Pipeline accepts. Zero is the default.
type Limits struct {
	MaxPoints      int           // in a request; 1,000,000
	InFlightBytes  int64         // of all requests that are being worked on; 128 MiB
	ProduceTimeout time.Duration // for Kafka's acknowledgement; 5 s
}

// Deps is what a Pipeline works with.
type Deps struct {
	Sources        resolve.SourceDirectory
	Registry       resolve.SeriesRegistry
	Log            producer
	Routes         resolve.Router
	Retention      resolve.RetentionDirectory // nil: points of any age are taken
	FingerprintKey [16]byte                   // the installation's
	Limits         Limits
	CacheSize      int                   // series that are remembered; 2,000,000
	Metrics        prometheus.Registerer // nil: what is measured is not registered
	Tracing        trace.TracerProvider  // nil: the stages of requests are not recorded
}

// Request is one call of the ingest endpoint.
type Request struct {
	Workspace  uuid.UUID
	RequestID  string
	ReceivedAt time.Time // the time of points that have none
	Body       []byte    // decoded; not kept after the call
	Strict     bool      // one rejected point refuses all
	Precision  string    // of Lines: one of LinePrecisions, "" is ns
}

// Rejection is why points were rejected.
type Rejection = rejection.Group

// Position is where a record of the request is in the topic.
type Position = pointblock.Position

// Result is what became of a request's points.
type Result struct {
	Accepted  int         `json:"accepted"`
	Rejected  int         `json:"rejected"`
	Errors    []Rejection `json:"errors"` // never nil
	Positions []Position  `json:"-"`      // of the records, for the checkpoint
}

// Pipeline accepts points. It may be used by many goroutines at once.
type Pipeline struct {
	deps     Deps
	tracer   tracing.Tracer
	inFlight *budget.Budget // bytes of all requests
	resolver *resolve.Resolver
	prom     *remotewrite.Cache
	works    *bufferpool.Pool[*work] // of past requests, by their bytes
	parsing  *queue                  // bodies, by their bytes
	parsed   *queue                  // what they are parsed into
	metrics  *metrics
}

// New creates a Pipeline.
func New(deps Deps) *Pipeline {
	orDefault(&deps.Limits.MaxPoints, 1_000_000)
	orDefault(&deps.Limits.InFlightBytes, 128<<20)
	orDefault(&deps.Limits.ProduceTimeout, 5*time.Second)
	orDefault(&deps.CacheSize, 2_000_000)
	p := &Pipeline{
		deps:     deps,
		tracer:   tracing.New(deps.Tracing, "ingest"),
		inFlight: budget.New(deps.Limits.InFlightBytes),
		parsing:  newQueue(deps.Limits.InFlightBytes/parsingPart, runtime.GOMAXPROCS(0)+1, deps.Limits.ProduceTimeout),
		parsed:   newQueue(deps.Limits.InFlightBytes/parsedPart, 0, deps.Limits.ProduceTimeout),
		prom:     remotewrite.NewCache(remotewrite.CacheBytes),
		works:    bufferpool.New[*work](pooledBytes, pooledTime),
	}
	factory := promauto.With(deps.Metrics)
	p.metrics = newMetrics(factory)
	p.resolver = resolve.New(deps.resolver(), p.metrics.resolver)
	p.registerGauges(factory)
	return p
}

func (d *Deps) resolver() resolve.Deps {
	return resolve.Deps{
		Sources: d.Sources, Registry: d.Registry, Routes: d.Routes, Retention: d.Retention,
		FingerprintKey: d.FingerprintKey, RouteTimeout: d.Limits.ProduceTimeout, CacheSize: d.CacheSize,
	}
}

func orDefault[T int | int64 | time.Duration](setting *T, value T) {
	if *setting == 0 {
		*setting = value
	}
}

// SourcesChanged notifies the pipeline that this process created, changed or deleted
// sources of a workspace, which then applies at once. Changes by
// others apply within a second: see AwaitOthers.
func (p *Pipeline) SourcesChanged(workspace uuid.UUID) {
	p.resolver.Forget(workspace)
}

// AwaitOthers returns when no process accepts points any more by what it knew of
// sources before a change that was committed at the latest at the given time, or
// when the context ends: after a second or so. Lines with the name of a source that
// was deleted would else be accepted for the deleted one, and be lost with it.
func (p *Pipeline) AwaitOthers(ctx context.Context, committed time.Time) {
	resolve.AwaitOthers(ctx, committed)
}

// Accept accepts points in the format (see the package comment) and returns when
// all accepted ones are acknowledged by Kafka. Errors are those of the whole
// request, as *fault.Error:
//
//   - Malformed: the body does not have the format's form
//   - Invalid: a value that belongs to the whole request breaks a rule, or no
//     point was accepted, or some were not and Strict is set; the details then
//     have accepted, rejected and errors
//   - TooLarge: the records of the points would be too large
//   - Unavailable: there is no room at the moment, or a store is down. With
//     details.partial some records were written, whose positions are in the
//     result; sending all again is safe where points have timestamps.
func (p *Pipeline) Accept(ctx context.Context, format Format, req Request) (Result, error) {
	size := int64(len(req.Body))
	body, err := p.admit(size)
	if err != nil {
		p.metrics.requests[outcomeNoRoom].Inc()
		return Result{}, err
	}
	defer body.Release()
	parsing, err := p.parsing.wait(ctx, size, size)
	if err != nil {
		p.metrics.requests[outcomeNoRoom].Inc()
		return Result{}, err
	}
	defer parsing.Release()
	p.metrics.bytes.Add(float64(size))
	w, ok := p.works.Get()
	if !ok {
		w = newWork(p.prom)
	}
	w.begin(format, &req)
	defer p.release(w)
	b := w.batch
	stages := p.metrics.timer()
	_, span := p.tracer.Start(ctx, trace.SpanKindInternal, "parse points")
	err = w.parse(p.deps.Limits.MaxPoints)
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("livegraph.points", b.Points), attribute.Int64("livegraph.body.size", size))
	}
	tracing.End(span, err)
	stages.done(stageParse)
	var result Result
	if err == nil {
		parsed, full := p.admitParsed(ctx, b, size, body)
		if full != nil {
			p.metrics.requests[outcomeNoRoom].Inc()
			return Result{}, full
		}
		defer parsed.Release()
		parsing.Release()
		result, err = p.accept(ctx, w, &req, &stages)
	}
	p.metrics.count(w, &result, err)
	return result, err
}

// release keeps the buffers of a request for the next one, unless they are very large.
func (p *Pipeline) release(w *work) {
	size := w.batch.Size()
	w.end()
	if size <= maxPooledBytes {
		p.works.Put(w, size)
	}
}

// accept brings a parsed batch into the log.
func (p *Pipeline) accept(ctx context.Context, w *work, req *Request, stages *timer) (Result, error) {
	b := w.batch
	if w.format == RemoteWrite && b.Points == 0 {
		return Result{Errors: []Rejection{}}, nil // metadata or stale markers: Prometheus sends such requests, too
	}
	resolving, span := p.tracer.Start(ctx, trace.SpanKindInternal, "resolve series")
	err := p.resolve(resolving, w, req)
	tracing.End(span, err)
	stages.done(stageResolve)
	if err != nil {
		return Result{}, err
	}
	accepted, err := b.Encode()
	if err != nil {
		return Result{}, err
	}
	stages.done(stageEncode)
	positions, err := p.produce(ctx, b, req.RequestID)
	stages.done(stageProduce)
	return Result{Accepted: accepted, Rejected: b.Rejected.Rejected, Errors: b.Rejections(), Positions: positions}, err
}

// resolve finds the sources and the series of a batch's points. It fails when no
// point is left, or too few for a strict request.
func (p *Pipeline) resolve(ctx context.Context, w *work, req *Request) error {
	b := w.batch
	if err := refuse(b, req.Strict); err != nil {
		return err
	}
	if err := p.resolver.Sources(ctx, b, w.format.createsSources()); err != nil {
		return err
	}
	if err := p.resolver.RejectExpired(ctx, b); err != nil {
		return err
	}
	if err := refuse(b, req.Strict); err != nil { // before it registers series for nothing
		return err
	}
	if err := p.resolver.Series(ctx, b); err != nil {
		return err
	}
	return refuse(b, req.Strict)
}

// produce writes the batch's messages.
func (p *Pipeline) produce(ctx context.Context, b *block.Batch, requestID string) ([]Position, error) {
	ctx, cancel := context.WithTimeout(ctx, p.deps.Limits.ProduceTimeout)
	defer cancel()
	positions, err := p.deps.Log.ProducePoints(ctx, requestID, b.Output.Messages)
	if err == nil {
		return positions, nil
	}
	b.DropMessages() // the producer may yet read them
	failure := fault.Wrap(
		err, fault.Unavailable, "Not all points could be written to the log; send them again",
	).After(time.Second)
	var cause *fault.Error
	if errors.As(err, &cause) {
		failure.Kind, failure.Message = cause.Kind, cause.Message
		if cause.RetryAfter > 0 {
			failure.RetryAfter = cause.RetryAfter
		}
		for key, value := range cause.Details {
			failure = failure.With(key, value)
		}
	}
	if len(positions) > 0 {
		failure = failure.With("partial", true)
	}
	return positions, failure
}

// refuse returns the error of a request that has no points left, or that wants all
// or none and has lost some.
func refuse(b *block.Batch, strict bool) error {
	list, rejected := b.Hooks.ListName(), b.Rejected.Rejected
	var refusal *fault.Error
	switch {
	case b.Points == 0:
		refusal = fault.Field(fault.Invalid, list, "must hold at least one point")
	case rejected == b.Points:
		refusal = fault.New(fault.Invalid, "No point was accepted")
	case strict && rejected > 0:
		refusal = fault.New(fault.Invalid, "Some points were rejected, so that none was accepted (strict)")
	default:
		return nil
	}
	errors := b.Rejections()
	if len(errors) > 0 {
		refusal = refusal.With("field", errors[0].Field).With("reason", errors[0].Reason)
		if line := errors[0].Line; line != nil {
			refusal = refusal.With("line", *line)
		}
	}
	return refusal.With("accepted", 0).With("rejected", rejected).With("errors", errors)
}

func overloaded() *fault.Error {
	return fault.New(fault.Unavailable, "Too much is being ingested at this moment").After(time.Second)
}
