package block

import (
	"hash/maphash"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/generations"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

const (
	labelCacheShards = 32
	// cachedLabelBytes is the approximate size of an entry without its strings.
	cachedLabelBytes = 320
	// maxCachedTokens is the maximum size of the tokens of a cached label.
	maxCachedTokens = 16 << 10
	// minGenerationTime is the minimum lifetime of a generation of the cache. It is longer than the
	// interval in which most producers send a series.
	minGenerationTime = 2 * time.Minute
)

// Form is the way in which the tokens of a label name a series. Equal tokens of different forms
// name different series.
type Form uint8

// Forms of labels in the cache.
const (
	FormLabels Form = iota + 1 // the label messages of a remote write
	FormLine                   // the head of a line and the key of a field
	FormJSON                   // source, metric and tags as JSON, without defaults of the request
)

// cachedLabel is a label and the series of numbers to which it was last resolved. It is immutable.
type cachedLabel struct {
	form                 Form
	workspace            uuid.UUID
	source, metric, tags string // the tokens
	byName               bool
	name                 string // of the source; empty if the tokens contain it
	KnownSeries
}

func (e *cachedLabel) size() int {
	return cachedLabelBytes + len(e.source) + len(e.metric) + len(e.tags) + len(e.name) + len(e.Encoded)
}

func (e *cachedLabel) matches(form Form, workspace uuid.UUID, t *Tokens) bool {
	return e.form == form && e.tags == string(t.Tags) && e.metric == string(t.Metric) &&
		e.source == string(t.Source) && e.byName == t.ByName && e.workspace == workspace
}

// LabelCache caches the series of labels by the bytes of their tokens, across requests. Producers
// send the same labels every few seconds, often with one point each, so parsing, sorting, validating,
// hashing and encoding them would be most of the work. Bytes and workspace are compared in full. A
// source that was deleted and created again has a new id; its labels are then resolved again.
//
// The cache maps hashes to the last label with this hash.
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
		}),
	}
}

// Lookup sets the known series of l if the tokens of l, of the given form, are cached. Hash must be
// a hash of the tokens with Batch.Labels.Seed. If the tokens do not contain the source, Lookup also
// sets the index of the source, and the metric and the tags of l need not be set.
func (c *LabelCache) Lookup(b *Batch, form Form, l *Label) (ok bool) {
	known := c.get(form, b.Workspace, l)
	if known == nil {
		b.Labels.Misses++
		return false
	}
	b.Labels.Hits++
	l.Known = &known.KnownSeries
	if known.name != "" {
		l.Source = b.Sources.InternName(known.name)
	}
	return true
}

// Add caches the series of numbers of a label that Lookup did not find, unless the cache is full.
func (c *LabelCache) Add(
	b *Batch, form Form, l *Label, ref pointblock.SeriesRef, identity *pointblock.Identity,
) {
	t := &l.Tokens
	if len(t.Tags)+len(t.Metric)+len(t.Source) > maxCachedTokens || !c.labels.CanPut(l.Hash) {
		return
	}
	source := &b.Sources.List[l.Source]
	name := ""
	if len(t.Source) == 0 {
		name = strings.Clone(source.Name)
	}
	c.labels.Put(l.Hash, l.Hash, &cachedLabel{
		form: form, workspace: b.Workspace, source: string(t.Source), metric: string(t.Metric), tags: string(t.Tags),
		byName: t.ByName, name: name,
		KnownSeries: KnownSeries{
			Source: source.ID, Ref: ref, Encoded: pointblock.AppendSeriesHeader(nil, ref, identity),
		},
	})
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
