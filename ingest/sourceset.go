package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"

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

// intern returns the index of the source that a token names.
func (s *sourceSet) intern(b *batch, t *tokens) int32 {
	key := sourceToken{token: view(t.source), byName: t.byName}
	i, ok := s.find(key)
	if !ok {
		i = s.add(key, newSourceRef(b.unescape(t.source, hasEscape(t.source)), t.byName))
	}
	return i
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

// canNameSource reports whether a source may have the name: by the rules that a
// source created by hand has.
func canNameSource(name string) bool {
	return name != "" && (len(name) <= maxNameRunes || utf8.RuneCountInString(name) <= maxNameRunes) &&
		utf8.ValidString(name) && strings.TrimSpace(name) != "" && !strings.ContainsFunc(name, endsLines)
}

// endsLines reports control characters, and the separators that end lines for
// many a reader.
func endsLines(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func newSourceRef(text string, byName bool) sourceRef {
	if byName {
		void := text == "" || len(text) > sourceNameLength || strings.IndexByte(text, 0) >= 0
		return sourceRef{name: text, byName: true, void: void}
	}
	id, ok := parseUUID(text)
	return sourceRef{id: id, void: !ok}
}
