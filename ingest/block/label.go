package block

import (
	"hash/maphash"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Estimates of what a label and a tag take in memory, and the initial size of the table of labels.
const (
	firstLabelSlots = 64
	labelBytes      = 256
	tagBytes        = 32
)

// Tokens are what identifies the series in a row or series object: each token as in the
// body, empty where the request's default applies.
type Tokens struct {
	Source, Metric, Tags []byte
	ByName               bool // the source is given by name
}

// Equal reports whether both name a series by the same bytes.
func (t *Tokens) Equal(o *Tokens) bool {
	return string(t.Metric) == string(o.Metric) && string(t.Tags) == string(o.Tags) &&
		string(t.Source) == string(o.Source) && t.ByName == o.ByName
}

// Label is one way in which the body names a series. Two ways may name the same
// one (tags in another order, escapes); that is found out later, by fingerprint.
type Label struct {
	Tokens
	Hash   uint64
	Metric string
	Tags   []pointblock.Tag // its own, sorted, without the request's
	Source int32
	Next   int32 // the label that came after this one the last time

	Known   *KnownSeries     // its series by an earlier request; metric and tags are then not read
	Refused rejection.Reason // why none of its points can be accepted
	Culprit string           // the tag that is to blame

	// By kind, less one.
	Count [2]int // points
	First [2]int // index of the first row or series that has one
	final [2]int32
}

// KnownSeries is the series to which a label was last resolved. It never changes.
type KnownSeries struct {
	Source  uuid.UUID
	Ref     pointblock.SeriesRef
	Encoded []byte // the series' identity, as records have it
}

// Refuse notes the first rule that a label breaks, and the tag that is to blame.
func (l *Label) Refuse(why rejection.Reason, culprit string) {
	if l.Refused == rejection.None {
		l.Refused, l.Culprit = why, culprit
	}
}

// stillKnown reports whether the known series of a label is still its series. If the source was
// deleted and created again it is not, and the label is read.
func (b *Batch) stillKnown(l *Label) bool {
	if l.Known == nil {
		return false
	}
	if b.Sources.List[l.Source].ID == l.Known.Source {
		return true
	}
	l.Known = nil
	b.Hooks.Read(l)
	return false
}

// labelSet is the set of a request's labels, indexed by their tokens.
type labelSet struct {
	Seed     maphash.Seed
	List     []Label
	slots    []int32 // a hash table of indexes, plus one; at most half full
	tags     []pointblock.Tag
	Last     int32
	Defaults defaults
}

// defaults apply to all points of the request.
type defaults struct {
	Source Tokens // only the source
	Metric string
	Tags   []pointblock.Tag // sorted
}

func (s *labelSet) reset() {
	clear(s.List)
	clear(s.tags)
	clear(s.slots)
	s.List, s.tags, s.Last = s.List[:0], s.tags[:0], 0
	s.Defaults = defaults{}
}

func (s *labelSet) size() int {
	return cap(s.List)*labelBytes + cap(s.tags)*tagBytes + cap(s.slots)*4
}

// Expected returns the label that followed the last one the last time: batches
// mostly go through their series in the same order again and again.
func (s *labelSet) Expected() *Label {
	if len(s.List) == 0 {
		return nil
	}
	return &s.List[s.List[s.Last].Next]
}

// Find returns the index of the label with these tokens, or -1 and their hash.
func (s *labelSet) Find(t *Tokens) (int32, uint64) {
	h := maphash.Bytes(s.Seed, t.Metric)
	h = h*0x9e3779b97f4a7c15 ^ maphash.Bytes(s.Seed, t.Tags)
	h = h*0x9e3779b97f4a7c15 ^ maphash.Bytes(s.Seed, t.Source)
	return s.FindHashed(t, h), h
}

// FindHashed does the same for a hash of the caller's own, which may be any
// function of the tokens that stays the same for the whole request.
func (s *labelSet) FindHashed(t *Tokens, h uint64) int32 {
	if len(s.slots) == 0 {
		return -1
	}
	mask := uint64(len(s.slots) - 1)
	for slot := h & mask; s.slots[slot] != 0; slot = (slot + 1) & mask {
		if l := &s.List[s.slots[slot]-1]; l.Hash == h && l.Equal(t) {
			return s.slots[slot] - 1
		}
	}
	return -1
}

// Insert adds a label and returns its index.
func (s *labelSet) Insert(l Label) int32 {
	if 2*(len(s.List)+1) > len(s.slots) {
		s.slots = make([]int32, max(firstLabelSlots, 4*len(s.List)))
		for i := range s.List {
			s.place(s.List[i].Hash, int32(i))
		}
	}
	i := int32(len(s.List))
	l.Next = i
	s.List = append(s.List, l)
	s.place(l.Hash, i)
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

// Follow notes that a point of label i came after one of the last label.
func (s *labelSet) Follow(i int32) {
	s.List[s.Last].Next = i
	s.Last = i
}

// Keep copies tags to where they stay for the request.
func (s *labelSet) Keep(tags []pointblock.Tag) []pointblock.Tag {
	from := len(s.tags)
	s.tags = append(s.tags, tags...)
	return s.tags[from:len(s.tags):len(s.tags)]
}

// Identity returns the identity of a label's series; the tags are valid until the
// scratch is used again.
func (b *Batch) Identity(l *Label, kind pointblock.Kind, scratch *[]pointblock.Tag) pointblock.Identity {
	tags := l.Tags
	if defaults := b.Labels.Defaults.Tags; len(defaults) > 0 {
		*scratch = appendMerged((*scratch)[:0], tags, defaults)
		tags = *scratch
	}
	return pointblock.Identity{
		Workspace: b.Workspace, Source: b.Sources.List[l.Source].ID, Metric: l.Metric, Tags: tags, Kind: kind,
	}
}
