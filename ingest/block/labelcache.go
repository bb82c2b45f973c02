package block

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

const (
	labelCacheShards = 32
	// cachedLabelBytes is the approximate size of an entry without its strings.
	cachedLabelBytes = 320
	// maxCachedTokens is the maximum size of the tokens of a cached label.
	maxCachedTokens = 16 << 10
	// minGenerationTime is the minimum lifetime of a generation. It is longer than the
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
// As in resolve.seriesCache, a shard has two generations. A full generation is kept for a minimum
// time. Otherwise, if the cache were too small for all labels, each label would be evicted before
// it is sent again.
type LabelCache struct {
	seed          maphash.Seed
	perGeneration int // bytes
	shards        [labelCacheShards]labelShard
}

type labelShard struct {
	mu         sync.Mutex
	young, old map[uint64]*cachedLabel
	bytes      int // approximate size of young
	rotated    time.Time
}

// NewLabelCache creates a cache of approximately the given size in bytes.
func NewLabelCache(bytes int) *LabelCache {
	c := &LabelCache{seed: maphash.MakeSeed(), perGeneration: bytes / labelCacheShards / 2}
	for i := range c.shards {
		c.shards[i].young = map[uint64]*cachedLabel{}
	}
	return c
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
	if len(t.Tags)+len(t.Metric)+len(t.Source) > maxCachedTokens || !c.canAdd(l.Hash) {
		return
	}
	source := &b.Sources.List[l.Source]
	name := ""
	if len(t.Source) == 0 {
		name = strings.Clone(source.Name)
	}
	c.put(l.Hash, &cachedLabel{
		form: form, workspace: b.Workspace, source: string(t.Source), metric: string(t.Metric), tags: string(t.Tags),
		byName: t.ByName, name: name,
		KnownSeries: KnownSeries{
			Source: source.ID, Ref: ref, Encoded: pointblock.AppendSeriesHeader(nil, ref, identity),
		},
	})
}

// Len returns the number of cached labels.
func (c *LabelCache) Len() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}

func (c *LabelCache) get(form Form, workspace uuid.UUID, l *Label) *cachedLabel {
	s := &c.shards[l.Hash%labelCacheShards]
	s.mu.Lock()
	e := s.young[l.Hash]
	if e == nil {
		if e = s.old[l.Hash]; e != nil {
			s.put(l.Hash, e, c.perGeneration)
		}
	}
	s.mu.Unlock()
	if e == nil || !e.matches(form, workspace, &l.Tokens) {
		return nil
	}
	return e
}

// canAdd reports whether put would add a label.
func (c *LabelCache) canAdd(hash uint64) bool {
	s := &c.shards[hash%labelCacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.canAdd(c.perGeneration)
}

// put adds a label, unless the cache is full.
func (c *LabelCache) put(hash uint64, e *cachedLabel) {
	s := &c.shards[hash%labelCacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(hash, e, c.perGeneration)
}

func (s *labelShard) canAdd(limit int) bool {
	return s.bytes < limit || time.Since(s.rotated) > minGenerationTime
}

func (s *labelShard) put(hash uint64, e *cachedLabel, limit int) {
	if !s.canAdd(limit) {
		return
	}
	if s.bytes >= limit {
		s.old, s.young, s.bytes, s.rotated = s.young, map[uint64]*cachedLabel{}, 0, time.Now()
	}
	s.young[hash] = e
	s.bytes += e.size()
}
