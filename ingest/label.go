package ingest

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Limits of a series' identity.
const (
	maxTags          = 64
	maxNameRunes     = 256  // a metric, a tag's name
	maxTextBytes     = 1024 // a string value, a tag's value
	maxRepeatedTags  = 1024 // beyond, the request as a whole is refused
	firstLabelSlots  = 64
	labelBytes       = 256 // about, for the estimate of a batch's size
	tagBytes         = 32
	sourceNameLength = 1024 // bytes; a longer name is of no source
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

	known   *promSeries // what it came to in a request before; then metric and tags are not read
	refused reason      // why none of its points can be accepted
	culprit string      // the tag that is to blame

	// By kind, less one.
	count [2]int // points
	first [2]int // index of the first row or series that has one
	final [2]int32
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

// newLabel makes the label of these tokens, which the caller has checked to be
// JSON of the right types, and says in it whether its values break a rule.
func (b *batch) newLabel(t tokens, hash uint64, own []pointblock.Tag) int32 {
	l := label{tokens: t, hash: hash, tags: own, metric: b.labels.defaults.metric}
	if len(t.metric) > 0 {
		l.metric = b.unescape(t.metric, hasEscape(t.metric))
		l.refused = checkMetric(l.metric)
	}
	source := &t
	if len(t.source) == 0 {
		source = &b.labels.defaults.source
	}
	l.source = b.sources.intern(b, source)
	if len(own) > 0 && l.refused == accepted {
		l.refused, l.culprit = checkTags(own)
		if l.refused == accepted && countMerged(own, b.labels.defaults.tags) > maxTags {
			l.refused = tagsMany
		}
	}
	return b.labels.insert(l)
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

func hasEscape(token []byte) bool {
	for _, c := range token {
		if c == '\\' {
			return true
		}
	}
	return false
}

func checkMetric(metric string) reason {
	return checkName(metric, metricEmpty, metricLong, metricNUL)
}

func checkName(name string, empty, long, nul reason) reason {
	switch {
	case name == "":
		return empty
	case len(name) > maxNameRunes && utf8.RuneCountInString(name) > maxNameRunes:
		return long
	case strings.IndexByte(name, 0) >= 0:
		return nul
	}
	return accepted
}

// checkTags returns the first rule that tags break, and whose.
func checkTags(tags []pointblock.Tag) (reason, string) {
	for i := range tags {
		tag := &tags[i]
		if why := checkName(tag.Key, tagEmpty, tagLong, tagNUL); why != accepted {
			return why, tag.Key
		}
		if len(tag.Value) > maxTextBytes {
			return tagValueLong, tag.Key
		}
		if strings.IndexByte(tag.Value, 0) >= 0 {
			return tagValueNUL, tag.Key
		}
	}
	return accepted, ""
}

// sortTags puts tags in the order of their keys and gives a key that is there
// twice.
func sortTags(tags []pointblock.Tag) (twice string, ok bool) {
	if len(tags) > 1 {
		slices.SortFunc(tags, func(a, b pointblock.Tag) int { return cmp.Compare(a.Key, b.Key) })
	}
	for i := 1; i < len(tags); i++ {
		if tags[i].Key == tags[i-1].Key {
			return tags[i].Key, false
		}
	}
	return "", true
}

// appendMerged appends a series' own tags and, of the defaults, those whose keys
// it has not. Both are sorted, and so is the result.
func appendMerged(dst, own, defaults []pointblock.Tag) []pointblock.Tag {
	for len(own) > 0 && len(defaults) > 0 {
		switch c := cmp.Compare(own[0].Key, defaults[0].Key); {
		case c > 0:
			dst, defaults = append(dst, defaults[0]), defaults[1:]
			continue
		case c == 0:
			defaults = defaults[1:]
		}
		dst, own = append(dst, own[0]), own[1:]
	}
	return append(append(dst, own...), defaults...)
}

func countMerged(own, defaults []pointblock.Tag) int {
	n := len(own) + len(defaults)
	for len(own) > 0 && len(defaults) > 0 {
		switch c := cmp.Compare(own[0].Key, defaults[0].Key); {
		case c == 0:
			n--
			own, defaults = own[1:], defaults[1:]
		case c < 0:
			own = own[1:]
		default:
			defaults = defaults[1:]
		}
	}
	return n
}
