package block

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/rejection"
)

// Source is a source as the request names it.
type Source struct {
	ID        uuid.UUID
	Name      string // where it is given by name
	ByName    bool
	Void      bool // nothing that a source could be called
	Known     bool // it exists in the workspace
	Used      bool // there are points for it, where new names make sources
	Refused   rejection.Reason
	Partition int32
}

// SourceToken is a source as it is written in the body.
type SourceToken struct {
	Token  string
	ByName bool
}

// sourceSet is the set of sources that a request names.
type sourceSet struct {
	List  []Source
	index map[SourceToken]int32
	last  SourceToken
	at    int32 // of last
}

func (s *sourceSet) reset() {
	clear(s.List)
	clear(s.index)
	s.List, s.last, s.at = s.List[:0], SourceToken{}, 0
}

// Find returns the index of a source that was named before.
func (s *sourceSet) Find(key SourceToken) (i int32, ok bool) {
	if key == s.last {
		return s.at, true
	}
	if i, ok = s.index[key]; ok {
		s.last, s.at = key, i
	}
	return i, ok
}

// Add adds a source that was not named before.
func (s *sourceSet) Add(key SourceToken, ref Source) int32 {
	if s.index == nil {
		s.index = map[SourceToken]int32{}
	}
	i := int32(len(s.List))
	s.List = append(s.List, ref)
	s.index[key] = i
	s.last, s.at = key, i
	return i
}

// InternName returns the index of the source with the name, in a format that
// creates sources; raw is the name as in the body.
func (s *sourceSet) InternName(raw string, name func() string) int32 {
	key := SourceToken{Token: raw, ByName: true}
	i, ok := s.Find(key)
	if !ok {
		ref := Source{Name: name(), ByName: true}
		if !CanNameSource(ref.Name) {
			ref.Void, ref.Refused = true, rejection.SourceName
		}
		i = s.Add(key, ref)
	}
	return i
}

// MarkUsed notes which sources have points that are not rejected: no source is
// made for others.
func (b *Batch) MarkUsed() {
	for i := range b.Labels.List {
		if l := &b.Labels.List[i]; l.Count[0]+l.Count[1] > 0 {
			b.Sources.List[l.Source].Used = true
		}
	}
}
