package block

import (
	"hash/maphash"
	"sync/atomic"
	"time"
	"unique"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/generations"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

const (
	labelCacheShards = 32
	// cachedLabelBytes is the approximate size of an entry without its texts.
	cachedLabelBytes = 112
	// maxCachedTokens is the maximum size of the tokens of a cached label and of its source's name.
	maxCachedTokens = 16 << 10
	// minGenerationTime is the minimum lifetime of a generation of the cache. It is longer than the
	// interval in which most producers send a series.
	minGenerationTime = 2 * time.Minute
	// maxPredictedTime is how long a label may be predicted without being found in the cache, which
	// keeps it there.
	maxPredictedTime = minGenerationTime / 4
)

// Form is the way in which the tokens of a label name a series. Equal tokens of different forms
// name different series.
type Form uint8

// Forms of labels in the cache.
const (
	FormLabels Form = iota + 1 // the label messages of a remote write
	FormLine                   // the head of a line and the key of a field
	FormJSON                   // source, metric and tags as JSON, without defaults of the request
	FormOTLP                   // resource, metric with scope, and attributes of an OpenTelemetry data point
)

// cachedLabel is a label and the series of numbers to which it was last resolved. All fields but the
// atomic ones are immutable. It has 64 bytes, because there may be millions.
type cachedLabel struct {
	form      Form
	byName    bool
	ends      [4]uint16    // ends in data of the tokens source, metric and tags, and of the source's name
	position  atomic.Int32 // of the source among those of the last request
	workspace unique.Handle[uuid.UUID]
	hash      uint64
	// data contains all texts, because the garbage collector marks each allocation: the tokens, the name
	// of the source unless the tokens contain it, and the series' identity, encoded as in records.
	data string

	next  atomic.Pointer[cachedLabel] // the label that last followed this one in a request
	found atomic.Int64                // when a request last found it by its hash, microseconds since the Unix epoch
}

func (e *cachedLabel) size() int { return cachedLabelBytes + len(e.data) }

// matches compares the texts themselves: with Tokens.Equal, requests of many labels take 4 to 7 % more processor time.
func (e *cachedLabel) matches(form Form, workspace uuid.UUID, t *Tokens) bool {
	return e.data[e.ends[0]:e.ends[1]] == string(t.Metric) && e.data[e.ends[1]:e.ends[2]] == string(t.Tags) &&
		e.data[:e.ends[0]] == string(t.Source) && e.byName == t.ByName && e.form == form &&
		e.workspace.Value() == workspace
}

func (e *cachedLabel) tokens() Tokens {
	return Tokens{
		Source: scan.Bytes(e.data[:e.ends[0]]), Metric: scan.Bytes(e.data[e.ends[0]:e.ends[1]]),
		Tags: scan.Bytes(e.data[e.ends[1]:e.ends[2]]), ByName: e.byName,
	}
}

// name returns the name of the source, empty if the tokens contain it.
func (e *cachedLabel) name() string { return e.data[e.ends[2]:e.ends[3]] }

// encoded returns the series' identity, encoded as in records.
func (e *cachedLabel) encoded() string { return e.data[e.ends[3]:] }

func (e *cachedLabel) ref() pointblock.SeriesRef { return pointblock.HeaderRef(e.encoded()) }
func (e *cachedLabel) source() uuid.UUID         { return pointblock.HeaderSource(e.encoded()) }

// LabelCache caches the series of labels by the bytes of their tokens, across requests. Producers
// send the same labels every few seconds, often with one point each, so parsing, sorting, validating,
// hashing and encoding them would be most of the work. Bytes and workspace are compared in full. A
// source that was deleted and created again has a new id; its labels are then resolved again.
//
// The cache maps hashes to the last label with this hash. Most requests repeat the labels of an
// earlier one in the same order, so each label refers to the one that followed it last. With many
// labels, following this reference takes a fraction of the time of the look-up.
type LabelCache struct {
	seed   maphash.Seed
	labels *generations.Cache[uint64, *cachedLabel]
}

// NewLabelCache creates a cache of approximately the given size in bytes.
func NewLabelCache(bytes int) *LabelCache {
	return &LabelCache{
		seed: maphash.MakeSeed(),
		labels: generations.New[uint64, *cachedLabel](generations.Config[*cachedLabel]{
			Shards: labelCacheShards, Size: bytes, SizeOf: (*cachedLabel).size, MinAge: minGenerationTime,
			// Otherwise, evicted labels would keep each other in memory.
			Evicted: func(e *cachedLabel) { e.next.Store(nil) },
		}),
	}
}

// Predict returns the index of the label with the tokens t, of the given form, if it is the one that followed
// the last label in an earlier request, or -1. Lookup finds others.
func (c *LabelCache) Predict(b *Batch, form Form, t *Tokens) int32 {
	known := b.Labels.predicted(b.ReceivedUS)
	if known == nil || !known.matches(form, b.Workspace, t) {
		return -1
	}
	b.Labels.cached = known
	return b.insertKnown(known, t)
}

// Lookup sets the known series of l if the tokens of l, of the given form, are cached. Hash must be
// a hash of the tokens with Batch.Labels.Seed. If the tokens do not contain the source, Lookup also
// sets the index of the source, and the metric and the tags of l need not be set.
func (c *LabelCache) Lookup(b *Batch, form Form, l *Label) (ok bool) {
	known := b.Labels.predicted(b.ReceivedUS)
	if known == nil || !known.matches(form, b.Workspace, &l.Tokens) {
		if known = c.get(form, b.Workspace, l); known == nil {
			b.Labels.Misses++
			b.Labels.cached = nil
			return false
		}
		known.found.Store(b.ReceivedUS)
		if before := b.Labels.cached; before != nil && before.next.Load() != known {
			before.next.Store(known)
		}
	}
	b.Labels.cached = known
	b.setKnown(l, known)
	return true
}

// Add caches the series of numbers of a label that Lookup did not find, unless the cache is full.
func (c *LabelCache) Add(
	b *Batch, form Form, l *Label, ref pointblock.SeriesRef, identity *pointblock.Identity,
) {
	t, source := &l.Tokens, &b.Sources.List[l.Source]
	name := ""
	if len(t.Source) == 0 {
		name = source.Name
	}
	size := len(t.Source) + len(t.Metric) + len(t.Tags) + len(name)
	if size > maxCachedTokens || ref.ID == 0 || !c.labels.CanPut(l.Hash) {
		return
	}
	if known := c.get(form, b.Workspace, l); known != nil && known.source() == source.ID && known.ref() == ref {
		return // a concurrent request has added it
	}
	e := &cachedLabel{form: form, byName: t.ByName, workspace: unique.Make(b.Workspace), hash: l.Hash}
	b.encoded = pointblock.AppendSeriesHeader(b.encoded[:0], ref, identity)
	data := make([]byte, 0, size+len(b.encoded))
	for i, text := range [...]string{scan.View(t.Source), scan.View(t.Metric), scan.View(t.Tags), name} {
		data = append(data, text...)
		e.ends[i] = uint16(len(data))
	}
	e.data = scan.View(append(data, b.encoded...))
	c.labels.Put(l.Hash, l.Hash, e)
}

// Len returns the number of cached labels.
func (c *LabelCache) Len() int { return c.labels.Len() }

func (c *LabelCache) get(form Form, workspace uuid.UUID, l *Label) *cachedLabel {
	e, ok := c.labels.Get(l.Hash, l.Hash)
	if !ok || !e.matches(form, workspace, &l.Tokens) {
		return nil
	}
	return e
}
