package block

import (
	"hash/maphash"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// The initial size of the hash table of labels, and the estimated memory of a label and a tag.
const (
	firstLabelSlots = 64
	labelBytes      = 256
	tagBytes        = 32
)

// Tokens are the bytes of the body that identify the series of a row or series object. A token is empty if the
// request's default applies.
type Tokens struct {
	Source, Metric, Tags []byte
	ByName               bool // Source is a name
}

// Equal reports whether t and o have the same bytes.
func (t *Tokens) Equal(o *Tokens) bool {
	return string(t.Metric) == string(o.Metric) && string(t.Tags) == string(o.Tags) &&
		string(t.Source) == string(o.Source) && t.ByName == o.ByName
}

// Label is a series as the body names it. Two labels can name the same series, for example with tags in
// another order or with escapes. The fingerprint identifies such duplicates later.
type Label struct {
	Tokens
	Hash   uint64
	Metric string
	Tags   []pointblock.Tag // sorted; without the request's default tags
	Source int32            // index in Batch.Sources
	Next   int32            // the label that last followed this one in the request

	Known      *KnownSeries     // the cached series of numbers; metric and tags are then perhaps not parsed
	Refused    rejection.Reason // why all points of the label are rejected
	InvalidTag string           // the invalid tag

	// Indexed by kind minus one.
	Count       [2]int // number of points
	First       [2]int // index of the first row or series that has a point
	seriesIndex [2]int32
}

// KnownSeries is the series to which a label was last resolved. It is immutable.
type KnownSeries struct {
	Source  uuid.UUID
	Ref     pointblock.SeriesRef
	Encoded []byte // the series' identity, encoded as in records
}

// Refuse sets the rule that the label breaks and the invalid tag. If a rule is set already, it does nothing.
func (l *Label) Refuse(why rejection.Reason, tag string) {
	if l.Refused == rejection.None {
		l.Refused, l.InvalidTag = why, tag
	}
}

// isKnown reports whether the series of a label's points of a kind is cached. It is not if the source was deleted and
// created again. Then isKnown removes the cached series. If it returns false, the label is parsed.
func (b *Batch) isKnown(l *Label, kind pointblock.Kind) bool {
	if l.Known == nil {
		return false
	}
	if len(b.Labels.Defaults.Tags) > 0 { // the series has tags that are not in the tokens
		l.Known = nil
		return false
	}
	if b.Sources.List[l.Source].ID == l.Known.Source && kind == pointblock.KindNumber {
		return true
	}
	b.read(l)
	if b.Sources.List[l.Source].ID != l.Known.Source {
		l.Known = nil
	}
	return false
}

// read parses a label if it has not been, because its series is cached.
func (b *Batch) read(l *Label) {
	if l.Known != nil && l.Metric == "" {
		b.Hooks.Read(l)
	}
}

// labelSet is the set of a request's labels, indexed by their tokens.
type labelSet struct {
	Seed     maphash.Seed
	List     []Label
	slots    []int32 // a hash table of indexes, plus one; at most half full
	tags     []pointblock.Tag
	Last     int32
	Defaults defaults

	Hits, Misses int // labels that were in the cache, and that were not
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
	s.Defaults, s.Hits, s.Misses = defaults{}, 0, 0
}

func (s *labelSet) size() int {
	return cap(s.List)*labelBytes + cap(s.tags)*tagBytes + cap(s.slots)*4
}

// Expected returns the label that is likely to come next: the one that followed the last label before. Most
// requests repeat their series in the same order. It returns nil if there are no labels.
func (s *labelSet) Expected() *Label {
	if len(s.List) == 0 {
		return nil
	}
	return &s.List[s.List[s.Last].Next]
}

// Find returns the index of the label with the tokens t, or -1, and the hash of t.
func (s *labelSet) Find(t *Tokens) (int32, uint64) {
	h := maphash.Bytes(s.Seed, t.Metric)
	h = h*0x9e3779b97f4a7c15 ^ maphash.Bytes(s.Seed, t.Tags)
	h = h*0x9e3779b97f4a7c15 ^ maphash.Bytes(s.Seed, t.Source)
	return s.FindHashed(t, h), h
}

// FindHashed returns the index of the label with the tokens t, or -1. h is the hash of t by any function that
// the caller uses for the whole request.
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
			s.setSlot(s.List[i].Hash, int32(i))
		}
	}
	i := int32(len(s.List))
	l.Next = i
	s.List = append(s.List, l)
	s.setSlot(l.Hash, i)
	return i
}

func (s *labelSet) setSlot(hash uint64, i int32) {
	mask := uint64(len(s.slots) - 1)
	slot := hash & mask
	for s.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	s.slots[slot] = i + 1
}

// Follow records that label i followed the last label in the request. Label i becomes the last label.
func (s *labelSet) Follow(i int32) {
	s.List[s.Last].Next = i
	s.Last = i
}

// CopyTags copies tags and returns the copy, which is valid until the end of the request.
func (s *labelSet) CopyTags(tags []pointblock.Tag) []pointblock.Tag {
	from := len(s.tags)
	s.tags = append(s.tags, tags...)
	return s.tags[from:len(s.tags):len(s.tags)]
}

// Identity returns the identity of a label's series. Its tags are valid until scratch is used again.
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
