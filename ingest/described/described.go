// Package described stores what clients send of metrics beside their points: types, descriptions and units.
// Clients repeat it at least every minute, so it is written in the background, and what cannot be written is
// dropped until it is sent again.
package described

import (
	"context"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/internal/platform/truncate"
)

const (
	// interval is the time between writes.
	interval = time.Second
	// maxPending is the maximum number of metrics that wait to be written. Others are dropped.
	maxPending = 10_000
	// maxWritten is the maximum number of metrics of one statement.
	maxWritten = 1_000
	// knownMetrics is the number of metrics whose metadata is known to be stored, for knownTime. After it, it is
	// written again, which changes nothing unless the database was restored meanwhile.
	knownMetrics = 100_000
	knownTime    = time.Hour
	// minChange is the minimum time between changes of a metric. Several targets may describe it differently, each
	// in every request.
	minChange = time.Minute
	// maxHelp and maxUnit are the maximum sizes in bytes. Longer texts are cut.
	maxHelp, maxUnit = 1024, 64
)

// store is where the metadata is stored; see storage/postgres/registry.
type store interface {
	PutMetricMetadata(ctx context.Context, list []metricmetadata.OfWorkspace) error
}

// key is a metric of a workspace.
type key struct {
	workspace uuid.UUID
	metric    string
}

// entry is what is known to be stored of a metric.
type entry struct {
	hash uint64
	at   time.Time // when it was written
}

// Writer stores metadata in the background. It is safe for concurrent use.
type Writer struct {
	store  store
	logger *slog.Logger
	seed   maphash.Seed
	known  *otter.Cache[key, entry]

	mu      sync.Mutex
	pending map[key]queued
}

// queued is metadata as it is stored, with the hash of what was sent.
type queued struct {
	metadata metricmetadata.Metadata
	hash     uint64
}

// New creates a Writer.
func New(store store, logger *slog.Logger) *Writer {
	return &Writer{
		store: store, logger: logger, seed: maphash.MakeSeed(), pending: map[key]queued{},
		known: otter.Must(&otter.Options[key, entry]{MaximumSize: knownMetrics}),
	}
}

// Put queues the metadata of a workspace's metrics to be stored, unless it is stored already. It ignores what
// has no valid name. The list may refer to the body of a request: Put copies what it keeps.
func (w *Writer) Put(workspace uuid.UUID, list []metricmetadata.Metadata) {
	now := time.Now()
	for i := range list {
		m := &list[i]
		k := key{workspace, m.Metric}
		hash := w.hash(m)
		if e, ok := w.known.GetIfPresent(k); ok {
			if age := now.Sub(e.at); age < minChange || e.hash == hash && age < knownTime {
				continue
			}
		}
		if block.CheckMetric(m.Metric) != rejection.None || !utf8.ValidString(m.Metric) {
			continue
		}
		w.add(key{workspace, strings.Clone(m.Metric)}, m, hash)
	}
}

// add queues the metadata of a metric.
func (w *Writer) add(k key, m *metricmetadata.Metadata, hash uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, replaces := w.pending[k]; !replaces && len(w.pending) >= maxPending {
		return
	}
	w.pending[k] = queued{hash: hash, metadata: metricmetadata.Metadata{
		Metric: k.metric, Type: m.Type, Help: stored(m.Help, maxHelp), Unit: stored(m.Unit, maxUnit),
	}}
}

// stored returns the text as it is stored.
func stored(text string, limit int) string {
	return strings.Clone(truncate.Bytes(strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", ""), limit))
}

func (w *Writer) hash(m *metricmetadata.Metadata) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	for _, text := range [...]string{m.Type, m.Help, m.Unit} {
		_, _ = h.WriteString(text)
		_ = h.WriteByte(0xff) // not in a text of UTF-8
	}
	return h.Sum64()
}

// Run writes what is queued, every second, until ctx is done.
func (w *Writer) Run(ctx context.Context) error {
	failures := outage.Log{
		Failed:    "the metadata of metrics cannot be stored; clients send it again",
		Recovered: "the metadata of metrics is stored again",
	}
	for sleep.For(ctx, interval) {
		if due := w.take(); len(due) > 0 {
			failures.Note(ctx, w.logger, w.write(ctx, due))
		}
	}
	return nil
}

// take removes and returns at most maxWritten of what is queued.
func (w *Writer) take() map[key]queued {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := map[key]queued{}
	for k, q := range w.pending {
		if len(due) == maxWritten {
			break
		}
		due[k] = q
		delete(w.pending, k)
	}
	return due
}

func (w *Writer) write(ctx context.Context, due map[key]queued) error {
	list := make([]metricmetadata.OfWorkspace, 0, len(due))
	for k, q := range due {
		list = append(list, metricmetadata.OfWorkspace{Workspace: k.workspace, Metadata: q.metadata})
	}
	if err := w.store.PutMetricMetadata(ctx, list); err != nil {
		return err
	}
	now := time.Now()
	for k, q := range due {
		w.known.Set(k, entry{q.hash, now})
	}
	return nil
}
