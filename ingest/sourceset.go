package ingest

import (
	"strings"

	"github.com/google/uuid"
)

// sourceRef is a source as the request names it.
type sourceRef struct {
	id        uuid.UUID
	name      string // where it is given by name
	byName    bool
	void      bool // nothing that a source could be called
	known     bool // it exists in the workspace
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

// intern gives the index of the source that a token names.
func (s *sourceSet) intern(b *batch, t *tokens) int32 {
	key := sourceToken{token: view(t.source), byName: t.byName}
	if key == s.last {
		return s.at
	}
	i, ok := s.index[key]
	if !ok {
		if s.index == nil {
			s.index = map[sourceToken]int32{}
		}
		i = int32(len(s.list))
		s.list = append(s.list, newSourceRef(b.unescape(t.source, hasEscape(t.source)), t.byName))
		s.index[key] = i
	}
	s.last, s.at = key, i
	return i
}

func newSourceRef(text string, byName bool) sourceRef {
	if byName {
		void := text == "" || len(text) > sourceNameLength || strings.IndexByte(text, 0) >= 0
		return sourceRef{name: text, byName: true, void: void}
	}
	id, ok := parseUUID(text)
	return sourceRef{id: id, void: !ok}
}
