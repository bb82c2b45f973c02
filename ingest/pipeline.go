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
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/ingest/resolve"
	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/bufferpool"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// producer writes to the topic of points.
type producer interface {
	// ProducePoints sends each message to its partition and waits until all are acknowledged.
	// It returns the positions of the acknowledged messages, even with an error. After an error
	// it may still read the messages; after success it does not.
	ProducePoints(ctx context.Context, requestID string, messages []pointblock.Message) ([]pointblock.Position, error)
}

// Limits are the limits of a Pipeline. Zero means the default.
type Limits struct {
	MaxPoints      int           // in a request; default 1,000,000
	InFlightBytes  int64         // of all requests in flight; default 128 MiB
	ProduceTimeout time.Duration // for Kafka's acknowledgement; default 5 s
}

// Deps are the dependencies and settings of a Pipeline.
type Deps struct {
	Sources        resolve.SourceDirectory
	Registry       resolve.SeriesRegistry
	Log            producer
	Routes         resolve.Router
	Retention      resolve.RetentionDirectory // nil: points of any age are accepted
	FingerprintKey [16]byte                   // key of the installation
	Limits         Limits
	CacheSize      int // maximum number of cached series; default 2,000,000
	// LabelCacheBytes is the approximate size of the cache of labels; default 384 MiB, for 1,000,000
	// labels or more.
	LabelCacheBytes int
	// OTLPResourceTags are the attributes of OpenTelemetry's resources that become tags of all their series.
	OTLPResourceTags []string
	// Metadata stores what requests say of metrics beside their points; nil: it is ignored.
	Metadata metadataStore
	Metrics  prometheus.Registerer // nil: metrics are not registered
	Tracing  trace.TracerProvider  // nil: the stages of requests are not traced
}

// metadataStore stores the metadata of metrics; see package described.
type metadataStore interface {
	// Put does not wait. The list is valid only during the call.
	Put(workspace uuid.UUID, list []metricmetadata.Metadata)
}

// Request is one call of the ingest endpoint.
type Request struct {
	Workspace  uuid.UUID
	RequestID  string
	ReceivedAt time.Time // timestamp of points that have none
	Body       []byte    // decoded; not used after the call
	Strict     bool      // refuse the whole request if one point is rejected
	Precision  string    // of Lines: one of LinePrecisions, "" is ns
}

// Rejection is a reason for which points were rejected, with their number.
type Rejection = rejection.Group

// Position is the partition and offset of a record of the request.
type Position = pointblock.Position

// Result is the result of a request.
type Result struct {
	Accepted   int         `json:"accepted"`
	Rejected   int         `json:"rejected"`
	Errors     []Rejection `json:"errors"` // never nil
	Positions  []Position  `json:"-"`      // of the records, for the checkpoint
	Histograms int         `json:"-"`      // accepted points that are native histograms
	// DataPoints is the number of data points of a request of OTLP. A histogram is one data point and many points.
	DataPoints int `json:"-"`
	Exemplars  int `json:"-"` // that were written; others were dropped
}

// Pipeline accepts points. It is safe for concurrent use.
type Pipeline struct {
	deps     Deps
	tracer   tracing.Tracer
	inFlight *budget.Budget // bytes of all requests
	resolver *resolve.Resolver
	labels   *block.LabelCache
	workPool *bufferpool.Pool[*work] // of past requests, by their bytes
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
	orDefault(&deps.LabelCacheBytes, 384<<20)
	p := &Pipeline{
		deps:     deps,
		tracer:   tracing.New(deps.Tracing, "ingest"),
		inFlight: budget.New(deps.Limits.InFlightBytes),
		parsing:  newQueue(deps.Limits.InFlightBytes/parsingDivisor, runtime.GOMAXPROCS(0)+1, deps.Limits.ProduceTimeout),
		parsed:   newQueue(deps.Limits.InFlightBytes/parsedDivisor, 0, deps.Limits.ProduceTimeout),
		labels:   block.NewLabelCache(deps.LabelCacheBytes),
		workPool: bufferpool.New[*work](pooledBytes, pooledTime),
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
		FingerprintKey: d.FingerprintKey, CacheSize: d.CacheSize,
	}
}

func orDefault[T int | int64 | time.Duration](setting *T, value T) {
	if *setting == 0 {
		*setting = value
	}
}

// SourcesChanged notifies the pipeline that this process created, changed or deleted sources of a
// workspace. The change then applies immediately. Changes by other processes apply within a second:
// see AwaitCacheExpiry.
func (p *Pipeline) SourcesChanged(workspace uuid.UUID) {
	p.resolver.Forget(workspace)
}

// AwaitCacheExpiry waits until no process uses sources that it cached before the given time, which is when a change was
// committed or later. That takes about a second. It also returns when ctx ends. Without the wait, lines with the name
// of a deleted source could be accepted for the deleted source and be lost with it.
func (p *Pipeline) AwaitCacheExpiry(ctx context.Context, committed time.Time) {
	resolve.AwaitCacheExpiry(ctx, committed)
}

// Accept accepts points in the given format (see the package comment) and returns when Kafka has acknowledged all
// accepted points. An error means that the whole request failed. It is a *fault.Error:
//
//   - Malformed: the body does not have the format's form
//   - Invalid: a value that applies to the whole request breaks a rule, no point
//     was accepted, or a point was rejected and Strict is set; the details then
//     contain accepted, rejected and errors
//   - TooLarge: the records of the points would be too large
//   - Unavailable: the memory limit is reached, or a store is down. If
//     details.partial is set, some records were written and their positions are
//     in the result. Sending the request again is safe if its points have
//     timestamps.
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
	w, ok := p.workPool.Get()
	if !ok {
		w = newWork(p.labels, p.deps.OTLPResourceTags)
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
		parsed, admitErr := p.admitParsed(ctx, b, size, body)
		if admitErr != nil {
			p.metrics.requests[outcomeNoRoom].Inc()
			return Result{}, admitErr
		}
		defer parsed.Release()
		parsing.Release()
		if p.deps.Metadata != nil && len(b.Metadata) > 0 {
			p.deps.Metadata.Put(req.Workspace, b.Metadata)
		}
		result, err = p.accept(ctx, w, &req, &stages)
	}
	p.metrics.count(w, &result, err)
	return result, err
}

// release returns the buffers of a request to the pool, unless they are larger than maxPooledBytes.
func (p *Pipeline) release(w *work) {
	size := w.batch.Size()
	w.end()
	if size <= maxPooledBytes {
		p.workPool.Put(w, size)
	}
}

// accept resolves, encodes and produces a parsed batch.
func (p *Pipeline) accept(ctx context.Context, w *work, req *Request, stages *timer) (Result, error) {
	b := w.batch
	if w.format.mayBeEmpty() && b.Points == 0 && b.Exemplars.Len() == 0 {
		return Result{Errors: []Rejection{}, DataPoints: w.otlp.DataPoints()}, nil
	}
	resolving, span := p.tracer.Start(ctx, trace.SpanKindInternal, "resolve series")
	err := p.resolve(resolving, w, req)
	tracing.End(span, err)
	stages.done(stageResolve)
	if err != nil {
		return Result{}, err
	}
	accepted, exemplars, err := b.Encode()
	if err != nil {
		return Result{}, err
	}
	stages.done(stageEncode)
	positions, err := p.produce(ctx, b, req.RequestID)
	stages.done(stageProduce)
	return Result{
		Accepted: accepted, Rejected: b.Rejected.Rejected, Errors: b.Rejections(), Positions: positions,
		Histograms: b.Output.Histograms, DataPoints: w.otlp.DataPoints(), Exemplars: exemplars,
	}, err
}

// resolve finds the sources and the series of a batch's points. It returns an error if no point is left, or if a point
// of a strict request was rejected.
func (p *Pipeline) resolve(ctx context.Context, w *work, req *Request) error {
	b := w.batch
	if err := checkRejections(b, req.Strict); err != nil {
		return err
	}
	if err := p.resolver.Sources(ctx, b, w.format.createsSources()); err != nil {
		return err
	}
	if err := p.resolver.RejectExpired(ctx, b); err != nil {
		return err
	}
	if err := checkRejections(b, req.Strict); err != nil { // do not register series of a request that fails
		return err
	}
	if err := p.resolver.Series(ctx, b); err != nil {
		return err
	}
	return checkRejections(b, req.Strict)
}

// produce writes the batch's messages to the log.
func (p *Pipeline) produce(ctx context.Context, b *block.Batch, requestID string) ([]Position, error) {
	if len(b.Output.Messages) == 0 { // only exemplars, all of which were dropped
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.deps.Limits.ProduceTimeout)
	defer cancel()
	positions, err := p.deps.Log.ProducePoints(ctx, requestID, b.Output.Messages)
	if err == nil {
		return positions, nil
	}
	b.DropMessages() // the producer may still read them
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

// checkRejections returns an error if the request has no accepted points, or if it is strict and a point was rejected.
func checkRejections(b *block.Batch, strict bool) error {
	list, rejected := b.Hooks.ListName(), b.Rejected.Rejected
	var refusal *fault.Error
	switch {
	case b.Points == 0 && b.Exemplars.Len()+b.Exemplars.Dropped > 0:
		return nil
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
