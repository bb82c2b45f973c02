package block

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/rejection"
)

// Source is a source that a request names.
type Source struct {
	ID          uuid.UUID
	Name        string // set if ByName
	ByName      bool
	InvalidName bool // the token cannot name a source
	Known       bool // it exists in the workspace
	Used        bool // it has points that are not rejected; set in formats that create sources
	Refused     rejection.Reason
	Partition   int32
}

// SourceToken is the token that names a source in the body.
type SourceToken struct {
	Token  string
	ByName bool
}

// sourceSet is the set of sources that a request names.
type sourceSet struct {
	List      []Source
	tokens    []SourceToken // of List
	seed      maphash.Seed
	table     table // of List
	last      SourceToken
	lastIndex int32 // index of last
}

func (s *sourceSet) reset() {
	clear(s.List)
	clear(s.tokens)
	s.table.reset()
	s.List, s.tokens, s.last, s.lastIndex = s.List[:0], s.tokens[:0], SourceToken{}, 0
}

// Find returns the index of a source that the request has already named.
func (s *sourceSet) Find(key SourceToken) (i int32, ok bool) {
	if key == s.last {
		return s.lastIndex, true
	}
	if i = s.table.find(s.hash(key.Token), func(i int32) bool { return s.tokens[i] == key }); i < 0 {
		return 0, false
	}
	s.last, s.lastIndex = key, i
	return i, true
}

// Add adds a source that the request has not named before and returns its index.
func (s *sourceSet) Add(key SourceToken, ref Source) int32 {
	i := int32(len(s.List))
	s.table.reserve(func(i int32) uint64 { return s.hash(s.tokens[i].Token) })
	s.List, s.tokens = append(s.List, ref), append(s.tokens, key)
	s.table.insert(s.hash(key.Token), i)
	s.last, s.lastIndex = key, i
	return i
}

func (s *sourceSet) hash(token string) uint64 { return maphash.String(s.seed, token) }

// InternName returns the index of the source with the given name, which it adds if it is new. It is for formats that
// create sources.
func (s *sourceSet) InternName(name string) int32 {
	key := SourceToken{Token: name, ByName: true}
	i, ok := s.Find(key)
	if !ok {
		ref := Source{Name: name, ByName: true}
		if !CanNameSource(ref.Name) {
			ref.InvalidName, ref.Refused = true, rejection.SourceName
		}
		i = s.Add(key, ref)
	}
	return i
}

// internKnown is InternName for the name of an existing source, which is probably at a position. It updates
// the position.
func (s *sourceSet) internKnown(name string, position *atomic.Int32) int32 {
	if i := int(position.Load()); i < len(s.List) && s.List[i].ByName && s.List[i].Name == name {
		return int32(i)
	}
	key := SourceToken{Token: name, ByName: true}
	i, ok := s.Find(key)
	if !ok {
		i = s.Add(key, Source{Name: name, ByName: true})
	}
	position.Store(i)
	return i
}

// MarkUsed marks the sources that have points that are not rejected. No other sources are created.
func (b *Batch) MarkUsed() {
	for i := range b.Labels.List {
		if l := &b.Labels.List[i]; l.Count != [kinds]int32{} {
			b.Sources.List[l.Source].Used = true
		}
	}
	for i := range b.Exemplars.list {
		b.Sources.List[b.Labels.List[b.Exemplars.list[i].label].Source].Used = true
	}
}
