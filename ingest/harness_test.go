package ingest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/resolve"
	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

var (
	workspace = uuid.MustParse("0198a1b2-0000-7000-8000-000000000001")
	boiler    = uuid.MustParse("0198a1b2-0000-7000-8000-00000000000a") // named "boiler"
	pump      = uuid.MustParse("0198a1b2-0000-7000-8000-00000000000b") // named "pump"
	received  = time.Date(2026, 11, 21, 7, 40, 8, 290_296_000, time.UTC)
)

// fakeStores implements the stores in memory and records what is written. Other tests use the
// real stores.
type fakeStores struct {
	mu         sync.Mutex
	sources    map[uuid.UUID]string
	maxSeries  int
	series     map[pointblock.Fingerprint]pointblock.Identity
	idOffset   uint64 // added to all ids
	partitions int32
	messages   []pointblock.Message
	requests   []string
	metadata   []metricmetadata.Metadata

	maxSources          int
	created             []string
	failCreate          error
	lookups, registered int
	failSources         error
	failRegistry        error
	failRoute           error
	afterLookup         func() // called after sources were looked up by name, before the result is returned
	produce             func(ctx context.Context, m []pointblock.Message) ([]pointblock.Position, error)
}

func newFakeStores() *fakeStores {
	return &fakeStores{
		sources:    map[uuid.UUID]string{boiler: "boiler", pump: "pump"},
		maxSeries:  1 << 40,
		maxSources: 10_000,
		series:     map[pointblock.Fingerprint]pointblock.Identity{},
		partitions: 8,
	}
}

func (p *fakeStores) pipeline(limits Limits) *Pipeline {
	return New(Deps{
		Sources: p, Registry: p, Log: p, Routes: p, FingerprintKey: [16]byte{1, 2, 3}, Limits: limits, CacheSize: 100_000,
		OTLPResourceTags: []string{"zone"}, Metadata: p,
	})
}

func (p *fakeStores) Put(_ uuid.UUID, list []metricmetadata.Metadata) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range list { // the texts are views into the body
		p.metadata = append(p.metadata, metricmetadata.Metadata{
			Metric: strings.Clone(m.Metric), Type: m.Type, Help: strings.Clone(m.Help), Unit: strings.Clone(m.Unit),
		})
	}
}

// setSourceTTL sets how long the pipeline caches sources. It empties all caches.
func (p *Pipeline) setSourceTTL(ttl time.Duration) {
	deps := p.deps.resolver()
	deps.SourceTTL = ttl
	p.resolver = resolve.New(deps, p.metrics.resolver)
}

func (p *fakeStores) SourcesByID(_ context.Context, ws uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookups++
	found := map[uuid.UUID]bool{}
	for _, id := range ids {
		if _, ok := p.sources[id]; ok && ws == workspace {
			found[id] = true
		}
	}
	return found, p.failSources
}

func (p *fakeStores) SourcesByName(_ context.Context, ws uuid.UUID, names []string) (map[string]uuid.UUID, error) {
	if p.afterLookup != nil {
		defer p.afterLookup()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookups++
	found := map[string]uuid.UUID{}
	for _, name := range names {
		for id, has := range p.sources {
			if has == name && ws == workspace {
				found[name] = id
			}
		}
	}
	return found, p.failSources
}

func (p *fakeStores) CreateSources(
	_ context.Context, ws uuid.UUID, names []string, _ func(name string) map[string]string,
) (map[string]uuid.UUID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.created = append(p.created, names...)
	created := map[string]uuid.UUID{}
	for _, name := range names {
		if ws == workspace && len(p.sources) < p.maxSources {
			created[name] = uuid.NewSHA1(workspace, []byte(name))
			p.sources[created[name]] = name
		}
	}
	return created, p.failCreate
}

func (p *fakeStores) RegisterSeries(
	_ context.Context, _ uuid.UUID, ids []pointblock.Identity, fps []pointblock.Fingerprint,
) ([]uint64, []bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failRegistry != nil {
		return nil, nil, p.failRegistry
	}
	out, ok := make([]uint64, len(ids)), make([]bool, len(ids))
	for i := range ids {
		p.registered++
		_, known := p.series[fps[i]]
		_, source := p.sources[ids[i].Source]
		if ok[i] = source && (known || len(p.series) < p.maxSeries); ok[i] {
			p.series[fps[i]] = ids[i]
			out[i] = fps[i].SeriesID() + p.idOffset
		}
	}
	return out, ok, nil
}

func (p *fakeStores) Route(context.Context) (pointblock.Route, error) {
	return pointblock.Route{Number: 7, Partitions: p.partitions}, p.failRoute
}

func (p *fakeStores) ProducePoints(
	ctx context.Context, requestID string, messages []pointblock.Message,
) ([]pointblock.Position, error) {
	if p.produce != nil {
		return p.produce(ctx, messages)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var positions []pointblock.Position
	for _, m := range messages {
		m.Value = append([]byte(nil), m.Value...)
		m.Key = append([]byte(nil), m.Key...)
		p.messages = append(p.messages, m)
		p.requests = append(p.requests, requestID)
		positions = append(positions, pointblock.Position{Partition: m.Partition, Offset: int64(len(p.messages))})
	}
	return positions, nil
}

// written returns all points in the log by "source metric{tags} time kind". Later points replace
// earlier ones with the same key.
func (p *fakeStores) written(t require.TestingT) map[string]any {
	points := map[string]any{}
	for _, m := range p.messages {
		var r pointblock.Record
		require.NoError(t, pointblock.Decode(m.Value, &r))
		require.Equal(t, workspace, r.Workspace)
		addExemplars(t, points, &r)
		for i := range r.Spans {
			s := &r.Spans[i]
			require.Equal(t, m.Partition, pointblock.Partition(s.Source, p.partitions))
			require.EqualValues(t, 7, m.Route, "a record contains its route")
			id := s.Identity(&r)
			require.Equal(t, id.Fingerprint(&[16]byte{1, 2, 3}), s.Fingerprint)
			numbers, texts := s.AppendValues(nil), s.AppendStrings(nil)
			for j, ts := range s.AppendTimestamps(nil) {
				name := pointName(id.Source, id.Metric, id.Tags, ts)
				switch s.Kind {
				case pointblock.KindNumber:
					points[name+" n"] = numbers[j]
				case pointblock.KindString:
					points[name+" s"] = texts[j]
				default:
					points[name+" special"] = texts[j]
				}
			}
		}
	}
	return points
}

func pointName(source uuid.UUID, metric string, tags []pointblock.Tag, ts int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q{", source, metric)
	for _, tag := range tags {
		fmt.Fprintf(&b, "%q=%q,", tag.Key, tag.Value)
	}
	fmt.Fprintf(&b, "} %d", ts)
	return b.String()
}

func request(body string) Request {
	return Request{Workspace: workspace, RequestID: "req_1", ReceivedAt: received, Body: []byte(body)}
}

// accept sends a body through a new pipeline.
func accept(t testing.TB, body string) (*fakeStores, Result, error) {
	t.Helper()
	p := newFakeStores()
	result, err := p.pipeline(Limits{}).Accept(context.Background(), JSON, request(body))
	return p, result, err
}

// problem returns the kind, the field and the reason of an error.
func problem(t testing.TB, err error) (kind fault.Kind, field, reason string) {
	t.Helper()
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	field, _ = fe.Details["field"].(string)
	reason, _ = fe.Details["reason"].(string)
	return fe.Kind, field, reason
}
