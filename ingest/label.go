package ingest

import (
	"hash/maphash"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// What a label and a tag take in memory, about, and how many labels there is room for at first.
const (
	firstLabelSlots = 64
	labelBytes      = 256
	tagBytes        = 32
)

// tokens are what a row or series object says of its series: each token as it
// stands in the body, empty where the request's default holds.
type tokens struct {
	source, metric, tags []byte
	byName               bool // the source is given by name
}

func (t *tokens) equal(o *tokens) bool {
	return string(t.metric) == string(o.metric) && string(t.tags) == string(o.tags) &&
		string(t.source) == string(o.source) && t.byName == o.byName
}

// label is one way in which the body names a series. Two ways may name the same
// one (tags in another order, escapes); that is found out later, by fingerprint.
type label struct {
	tokens
	hash   uint64
	metric string
	tags   []pointblock.Tag // its own, sorted, without the request's
	source int32
	next   int32 // the label that came after this one the last time

	known   *knownSeries // what it came to in a request before; then metric and tags are not read
	refused reason       // why none of its points can be accepted
	culprit string       // the tag that is to blame

	// By kind, less one.
	count [2]int // points
	first [2]int // index of the first row or series that has one
	final [2]int32
}

// knownSeries is what a label came to when it was last resolved. It never changes.
type knownSeries struct {
	source  uuid.UUID
	ref     pointblock.SeriesRef
	encoded []byte // the series' identity, as records have it
}

// refuse notes the first rule that a label breaks, and the tag that is to blame.
func (l *label) refuse(why reason, culprit string) {
	if l.refused == accepted {
		l.refused, l.culprit = why, culprit
	}
}

// stillKnown reports whether what a label came to before still applies: unless its source
// was deleted and created again. Then the label is read.
func (b *batch) stillKnown(l *label) bool {
	if l.known == nil {
		return false
	}
	if b.sources.list[l.source].id == l.known.source {
		return true
	}
	l.known = nil
	b.hooks.read(l)
	return false
}

// labelSet holds the request's labels and finds them again by their tokens.
type labelSet struct {
	seed     maphash.Seed
	list     []label
	slots    []int32 // a hash table of indexes, plus one; at most half full
	tags     []pointblock.Tag
	last     int32
	defaults defaults
}

// defaults are what the request says for all its points.
type defaults struct {
	source tokens // only the source
	metric string
	tags   []pointblock.Tag // sorted
}

func (s *labelSet) reset() {
	clear(s.list)
	clear(s.tags)
	clear(s.slots)
	s.list, s.tags, s.last = s.list[:0], s.tags[:0], 0
	s.defaults = defaults{}
}

func (s *labelSet) size() int {
	return cap(s.list)*labelBytes + cap(s.tags)*tagBytes + cap(s.slots)*4
}

// expected returns the label that followed the last one the last time: batches
// mostly go through their series in the same order again and again.
func (s *labelSet) expected() *label {
	if len(s.list) == 0 {
		return nil
	}
	return &s.list[s.list[s.last].next]
}

// find returns the index of the label with these tokens, or -1 and their hash.
func (s *labelSet) find(t *tokens) (int32, uint64) {
	h := maphash.Bytes(s.seed, t.metric)
	h = h*0x9e3779b97f4a7c15 ^ maphash.Bytes(s.seed, t.tags)
	h = h*0x9e3779b97f4a7c15 ^ maphash.Bytes(s.seed, t.source)
	return s.findHashed(t, h), h
}

// findHashed does the same for a hash of the caller's own, which may be any
// function of the tokens that stays the same for the whole request.
func (s *labelSet) findHashed(t *tokens, h uint64) int32 {
	if len(s.slots) == 0 {
		return -1
	}
	mask := uint64(len(s.slots) - 1)
	for slot := h & mask; s.slots[slot] != 0; slot = (slot + 1) & mask {
		if l := &s.list[s.slots[slot]-1]; l.hash == h && l.equal(t) {
			return s.slots[slot] - 1
		}
	}
	return -1
}

// insert adds a label and gives its index.
func (s *labelSet) insert(l label) int32 {
	if 2*(len(s.list)+1) > len(s.slots) {
		s.slots = make([]int32, max(firstLabelSlots, 4*len(s.list)))
		for i := range s.list {
			s.place(s.list[i].hash, int32(i))
		}
	}
	i := int32(len(s.list))
	l.next = i
	s.list = append(s.list, l)
	s.place(l.hash, i)
	return i
}

func (s *labelSet) place(hash uint64, i int32) {
	mask := uint64(len(s.slots) - 1)
	slot := hash & mask
	for s.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	s.slots[slot] = i + 1
}

// follow notes that a point of label i came after one of the last label.
func (s *labelSet) follow(i int32) {
	s.list[s.last].next = i
	s.last = i
}

// keep copies tags to where they stay for the request.
func (s *labelSet) keep(tags []pointblock.Tag) []pointblock.Tag {
	from := len(s.tags)
	s.tags = append(s.tags, tags...)
	return s.tags[from:len(s.tags):len(s.tags)]
}

// identity returns the identity of a label's series; the tags are good until the
// scratch is used again.
func (b *batch) identity(l *label, kind pointblock.Kind, scratch *[]pointblock.Tag) pointblock.Identity {
	tags := l.tags
	if defaults := b.labels.defaults.tags; len(defaults) > 0 {
		*scratch = appendMerged((*scratch)[:0], tags, defaults)
		tags = *scratch
	}
	return pointblock.Identity{
		Workspace: b.workspace, Source: b.sources.list[l.source].id, Metric: l.metric, Tags: tags, Kind: kind,
	}
}
