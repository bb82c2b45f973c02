package block

import (
	"hash/maphash"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// The estimated memory of a label and a tag.
const (
	labelBytes = 160
	tagBytes   = 32
)

// kinds is the number of kinds of values.
const kinds = pointblock.KindSpecial

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
	Tokens  Tokens
	Hash    uint64
	*Parsed              // nil: the series of numbers is cached, and nothing else has needed the tokens
	known   *cachedLabel // has the series of numbers

	// Indexed by kind minus one.
	Count       [kinds]int32 // number of points
	First       [kinds]int32 // index of the first row or series that has a point
	seriesIndex [kinds]int32

	Source   int32            // index in Batch.Sources
	Next     int32            // the label that last followed this one in the request
	Refused  rejection.Reason // why all points of the label are rejected
	interned bool             // seriesIndex of numbers is set; the label is not in the hash table
}

// Parsed is what the tokens of a label name. Most labels are found in the cache and need none, so it is not a part of
// them.
type Parsed struct {
	Metric     string
	Tags       []pointblock.Tag // sorted; without the request's default tags and those of Shared
	Shared     []pointblock.Tag // sorted; further tags, which several labels have and which no key of Tags repeats
	InvalidTag string           // the tag that breaks a rule
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
	if l.known == nil {
		return false
	}
	if b.Sources.List[l.Source].ID == l.known.source() && kind == pointblock.KindNumber {
		return true
	}
	b.read(l)
	if b.Sources.List[l.Source].ID != l.known.source() {
		l.known.found.Store(0) // it is not predicted any more
		l.known = nil
	}
	return false
}

// read parses a label if it has not been, because its series is cached.
func (b *Batch) read(l *Label) {
	if l.Parsed == nil {
		b.Hooks.Read(l)
	}
}

// labelSet is the set of a request's labels, indexed by their tokens.
type labelSet struct {
	Seed     maphash.Seed
	List     []Label
	table    table // of List
	parsed   parsedList
	tags     []pointblock.Tag
	Last     int32
	Defaults defaults

	Hits, Misses int          // labels that were in the cache, and that were not
	cached       *cachedLabel // the last label that was looked up in the cache; nil if it was not there
}

// defaults apply to all points of the request.
type defaults struct {
	Source Tokens // only the source
	Metric string
	Tags   []pointblock.Tag // sorted
}

func (s *labelSet) reset() {
	s.table.reset()
	s.parsed.reset()
	clear(s.List)
	clear(s.tags)
	s.List, s.tags, s.Last = s.List[:0], s.tags[:0], 0
	s.Defaults, s.Hits, s.Misses, s.cached = defaults{}, 0, 0, nil
}

func (s *labelSet) size() int {
	return cap(s.List)*labelBytes + cap(s.tags)*tagBytes + s.table.size() + s.parsed.size()
}

func (s *labelSet) hashOf(i int32) uint64 { return s.List[i].Hash }

// Expected returns the label that is likely to come next: the one that followed the last label before. Most
// requests repeat their series in the same order. It returns nil if there are no labels.
func (s *labelSet) Expected() *Label {
	if len(s.List) == 0 {
		return nil
	}
	return &s.List[s.List[s.Last].Next]
}

// predicted returns the cached label that is likely to be looked up next, or nil. now is in microseconds since
// the Unix epoch.
func (s *labelSet) predicted(now int64) *cachedLabel {
	if s.cached == nil {
		return nil
	}
	next := s.cached.next.Load()
	if next == nil || now-next.found.Load() > maxPredictedTime.Microseconds() {
		return nil
	}
	return next
}

// PredictedTokens returns the tokens of the label that Predict finds, or empty ones.
func (b *Batch) PredictedTokens() Tokens {
	if known := b.Labels.predicted(b.ReceivedUS); known != nil {
		return known.tokens()
	}
	return Tokens{}
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
	return s.table.find(h, func(i int32) bool { return s.List[i].Hash == h && s.List[i].Tokens.Equal(t) })
}

// insertKnown returns the index of a label of the known series. It adds a label with the tokens t if there is
// none. Known labels are found by their series, so that they are searched in one hash table instead of two.
func (b *Batch) insertKnown(known *cachedLabel, t *Tokens) int32 {
	o, s := &b.Output, &b.Labels
	count := len(o.Series)
	index := o.internKnown(known.ref())
	f := &o.Series[index]
	if int(index) < count {
		return f.Label
	}
	f.Label = int32(len(s.List))
	l := Label{Tokens: *t, Hash: known.hash, Next: f.Label, interned: true}
	l.seriesIndex[pointblock.KindNumber-1] = index
	b.setKnown(&l, known)
	s.List = append(s.List, l)
	return f.Label
}

// setKnown sets the known series of a label that is new in the request, and its source if the tokens do not contain it.
func (b *Batch) setKnown(l *Label, known *cachedLabel) {
	b.Labels.Hits++
	l.known = known
	if name := known.name(); name != "" {
		l.Source = b.Sources.internKnown(name, &known.position)
	}
}

// Insert adds a label and returns its index.
func (s *labelSet) Insert(l Label) int32 {
	i := int32(len(s.List))
	s.table.reserve(s.hashOf)
	l.Next = i
	s.List = append(s.List, l)
	s.table.insert(l.Hash, i)
	return i
}

// Parse sets Parsed of a label, which is empty at first.
func (s *labelSet) Parse(l *Label) {
	if l.Parsed == nil {
		l.Parsed = s.parsed.next()
	}
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
	if len(l.Shared) > 0 {
		*scratch = appendMerged((*scratch)[:0], tags, l.Shared)
		tags = *scratch
	} else if defaults := b.Labels.Defaults.Tags; len(defaults) > 0 {
		*scratch = appendMerged((*scratch)[:0], tags, defaults)
		tags = *scratch
	}
	return pointblock.Identity{
		Workspace: b.Workspace, Source: b.Sources.List[l.Source].ID, Metric: l.Metric, Tags: tags, Kind: kind,
	}
}
