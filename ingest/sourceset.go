package ingest

import (
	"github.com/google/uuid"
)

// sourceRef is a source as the request names it.
type sourceRef struct {
	id        uuid.UUID
	name      string // where it is given by name
	byName    bool
	void      bool // nothing that a source could be called
	known     bool // it exists in the workspace
	used      bool // there are points for it, where new names make sources
	refused   reason
	partition int32
}

type sourceToken struct {
	token  string
	byName bool
}

// sourceSet holds the sources that a request names.
type sourceSet struct {
	list  []sourceRef
	index map[sourceToken]int32
	last  sourceToken
	at    int32 // of last
}

func (s *sourceSet) reset() {
	clear(s.list)
	clear(s.index)
	s.list, s.last, s.at = s.list[:0], sourceToken{}, 0
}

// find returns the index of a source that was named before.
func (s *sourceSet) find(key sourceToken) (i int32, ok bool) {
	if key == s.last {
		return s.at, true
	}
	if i, ok = s.index[key]; ok {
		s.last, s.at = key, i
	}
	return i, ok
}

// add takes up a source that was not.
func (s *sourceSet) add(key sourceToken, ref sourceRef) int32 {
	if s.index == nil {
		s.index = map[sourceToken]int32{}
	}
	i := int32(len(s.list))
	s.list = append(s.list, ref)
	s.index[key] = i
	s.last, s.at = key, i
	return i
}

// internName returns the index of the source with the name, in a format that
// creates sources; raw is the name as it stands in the body.
func (s *sourceSet) internName(raw string, name func() string) int32 {
	key := sourceToken{token: raw, byName: true}
	i, ok := s.find(key)
	if !ok {
		ref := sourceRef{name: name(), byName: true}
		if !canNameSource(ref.name) {
			ref.void, ref.refused = true, sourceName
		}
		i = s.add(key, ref)
	}
	return i
}

// markUsed notes which sources have points that are not rejected: no source is
// made for others.
func (b *batch) markUsed() {
	for i := range b.labels.list {
		if l := &b.labels.list[i]; l.count[0]+l.count[1] > 0 {
			b.sources.list[l.source].used = true
		}
	}
}
