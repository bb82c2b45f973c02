package retrieval

import (
	"slices"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/truncate"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// Bounds of the evidence for a text.
const (
	maxEvidence      = 16 // sentences, without their neighbours
	maxEvidenceNodes = 10
	maxTitle         = 256 // bytes of the name of a node
	// passageOverhead is the maximum size of the fields of a passage in a prompt.
	passageOverhead = 96
	// gap is between two sentences of a passage that are not consecutive in their text.
	gap = " … "
)

// Evidence is what a chat model reads to answer a question: sentences that may answer it, and the ones before and after
// them, grouped by node.
type Evidence struct {
	Sentences []Quote
	Citations []Source
	Passages  []Passage // of the citations, in their order
}

// Passage is what a chat model reads of a node.
type Passage struct {
	Title string
	Text  string
	// Values are the latest values of the sources that are linked to the node, each with its name.
	Values []string

	vectors []embed.Vector // of its sentences that have one
}

// evidence returns the evidence for a text, of at most limit bytes in a prompt. The most relevant sentences come first
// when the limit is reached, and neighbours last.
func (c *candidates) evidence(hits []Hit, w Weights, limit int) Evidence {
	b := evidenceBuilder{passages: c.passages, remaining: limit, added: map[*sentence]bool{}, nodes: map[int]bool{}}
	picked := c.pick(w, maxEvidence)
	for _, s := range picked {
		b.add(s)
	}
	for _, s := range slices.Clone(b.list) {
		for _, neighbour := range []*sentence{s.before, s.after} {
			if neighbour != nil {
				b.add(neighbour)
			}
		}
	}
	c.rateList(b.list, w)
	c.sortToRead(b.list)
	var e Evidence
	e.Sentences, e.Citations = quote(hits, b.list)
	e.Passages = make([]Passage, len(e.Citations))
	for i := range b.list {
		c.addToPassage(&e.Passages[e.Sentences[i].Citation], b.list, i)
	}
	return e
}

// evidenceBuilder collects sentences within the bounds.
type evidenceBuilder struct {
	passages  []passage
	remaining int // bytes
	list      []*sentence
	added     map[*sentence]bool
	nodes     map[int]bool
}

// add adds a sentence if it is not there and there is space for it.
func (b *evidenceBuilder) add(s *sentence) {
	known := b.nodes[s.passage]
	size := quotedLength(gap) + quotedLength(s.Text) + quotedLength(s.context)
	if !known {
		size += passageOverhead + quotedLength(titleOf(&b.passages[s.passage]))
	}
	if b.added[s] || size > b.remaining || !known && len(b.nodes) == maxEvidenceNodes {
		return
	}
	b.remaining -= size
	b.list, b.added[s], b.nodes[s.passage] = append(b.list, s), true, true
}

func titleOf(p *passage) string { return truncate.Bytes(p.name, maxTitle) }

// addToPassage adds a sentence of a list to the passage of its node, with the heading or the question before it.
func (c *candidates) addToPassage(p *Passage, list []*sentence, index int) {
	s := list[index]
	var text strings.Builder
	text.WriteString(p.Text)
	context := s.context
	if p.Text == "" {
		p.Title = titleOf(&c.passages[s.passage])
	} else {
		last := list[index-1]
		if last.context == context {
			context = ""
		}
		if last.after == s {
			text.WriteByte(' ')
		} else {
			text.WriteString(gap)
		}
	}
	if context != "" {
		text.WriteString(context + " ")
	}
	text.WriteString(s.Text)
	p.Text = text.String()
	if s.vector != nil {
		p.vectors = append(p.vectors, s.vector)
	}
}
