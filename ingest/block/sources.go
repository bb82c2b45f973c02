package block

import (
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
	index     map[SourceToken]int32
	last      SourceToken
	lastIndex int32 // index of last
}

func (s *sourceSet) reset() {
	clear(s.List)
	clear(s.index)
	s.List, s.last, s.lastIndex = s.List[:0], SourceToken{}, 0
}

// Find returns the index of a source that the request has already named.
func (s *sourceSet) Find(key SourceToken) (i int32, ok bool) {
	if key == s.last {
		return s.lastIndex, true
	}
	if i, ok = s.index[key]; ok {
		s.last, s.lastIndex = key, i
	}
	return i, ok
}

// Add adds a source that the request has not named before and returns its index.
func (s *sourceSet) Add(key SourceToken, ref Source) int32 {
	if s.index == nil {
		s.index = map[SourceToken]int32{}
	}
	i := int32(len(s.List))
	s.List = append(s.List, ref)
	s.index[key] = i
	s.last, s.lastIndex = key, i
	return i
}

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

// internNear is InternName for a source that is probably at a position. It updates the position.
func (s *sourceSet) internNear(name string, position *atomic.Int32) int32 {
	if i := int(position.Load()); i < len(s.List) && s.List[i].ByName && s.List[i].Name == name {
		return int32(i)
	}
	i := s.InternName(name)
	position.Store(i)
	return i
}

// MarkUsed marks the sources that have points that are not rejected. No other sources are created.
func (b *Batch) MarkUsed() {
	for i := range b.Labels.List {
		if l := &b.Labels.List[i]; l.Count[0]+l.Count[1] > 0 {
			b.Sources.List[l.Source].Used = true
		}
	}
}
