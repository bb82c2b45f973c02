package textindex

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// memoryBytes is about how much of the text lanes a process keeps in memory.
	memoryBytes = 48 << 20
	// memoryChanges is how many nodes may have changed since: beyond, what is in memory
	// is forgotten.
	memoryChanges = 300
	// memorySpoilt is how many nodes may have changed altogether, beside a quarter of
	// them, until what is in memory is forgotten: the old ones stay in it, unseen.
	memorySpoilt = 1_000

	postingBytes = 6
	nodeBytes    = 72 // the place in the map included
	termBytes    = 128
)

// textMemory keeps the postings of terms that were searched for, of the workspaces
// that were searched last. A search brings it up to date with what changed since, by
// lexical_nodes.revision, so what it finds is never older than what the database says.
type textMemory struct {
	most int64 // bytes

	mu         sync.Mutex
	clock      int64
	workspaces map[uuid.UUID]*workspaceTexts
}

func newTextMemory(most int64) *textMemory {
	return &textMemory{most: most, workspaces: map[uuid.UUID]*workspaceTexts{}}
}

// of returns what is kept of a workspace; a nil memory keeps nothing.
func (m *textMemory) of(workspace uuid.UUID) *workspaceTexts {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.workspaces[workspace]
	if t == nil {
		t = &workspaceTexts{}
		t.forget(0)
		m.workspaces[workspace] = t
	}
	m.clock++
	t.used = m.clock
	return t
}

// fit forgets the workspaces that were not searched for longest until the rest fits.
func (m *textMemory) fit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, sum := make([]uuid.UUID, 0, len(m.workspaces)), int64(0)
	size := make(map[uuid.UUID]int64, len(m.workspaces))
	for id, t := range m.workspaces {
		size[id] = t.size()
		all, sum = append(all, id), sum+size[id]
	}
	slices.SortFunc(all, func(a, b uuid.UUID) int { return cmp.Compare(m.workspaces[a].used, m.workspaces[b].used) })
	for _, id := range all {
		if sum <= m.most {
			return
		}
		sum -= size[id]
		delete(m.workspaces, id) // who searches it just now may go on to
	}
}

// workspaceTexts is what is kept of one workspace: all postings of some terms, as of a
// revision.
type workspaceTexts struct {
	used int64 // the memory's

	mu       sync.RWMutex
	revision int64
	loads    int64 // how often terms were added
	nodes    []textNode
	place    map[uuid.UUID]int32 // in nodes, of those that are as they are now
	spoilt   int                 // nodes that are not
	terms    map[string]*termPostings
	postings int
}

type textNode struct {
	id     uuid.UUID
	length int32
	gone   bool // removed, or written again further on
}

// termPostings are the nodes that have a term, by their places, and how often.
type termPostings struct {
	nodes  []int32
	counts []int16
}

// posting is a row of lexical_postings.
type posting struct {
	node   uuid.UUID
	count  int16
	length int32
}

// textChange is a node that changed; without terms it is gone.
type textChange struct {
	node     uuid.UUID
	length   int32
	terms    string
	revision int64
}

// forget begins again, as of a revision. The caller holds the lock, or is alone.
func (t *workspaceTexts) forget(revision int64) {
	t.revision, t.loads = revision, t.loads+1
	t.nodes, t.spoilt, t.postings = nil, 0, 0
	t.place, t.terms = map[uuid.UUID]int32{}, map[string]*termPostings{}
}

func (t *workspaceTexts) size() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return int64(t.postings)*postingBytes + int64(len(t.nodes))*nodeBytes + int64(len(t.terms))*termBytes
}

// at says as of which revision it is, and how often terms were added.
func (t *workspaceTexts) at() (revision, loads int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.revision, t.loads
}

// wanted lists the postings of changed nodes that are to be read: of the terms that
// are kept.
func (t *workspaceTexts) wanted(changes []textChange) (terms []string, nodes postgres.UUIDs) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for i := range changes {
		for term := range strings.FieldsSeq(changes[i].terms) {
			if t.terms[term] != nil {
				terms, nodes = append(terms, term), append(nodes, pgtype.UUID{Bytes: changes[i].node, Valid: true})
			}
		}
	}
	return terms, nodes
}

// renew begins again as of a revision, unless it is as new already.
func (t *workspaceTexts) renew(revision int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revision < revision {
		t.forget(revision)
	}
}

// advance brings it from one revision to another by what changed between them, and
// the postings of that; false: it was changed meanwhile, and is not as new as that.
func (t *workspaceTexts) advance(from, loads, to int64, changes []textChange, found map[string][]posting) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.revision >= to:
		return true // somebody was quicker
	case t.revision != from || t.loads != loads:
		return false
	}
	for _, c := range changes {
		t.remove(c.node)
	}
	for term, postings := range found {
		for _, p := range postings {
			t.add(t.terms[term], p)
		}
	}
	t.revision = to
	if t.spoilt > memorySpoilt+len(t.nodes)/4 {
		t.forget(to)
	}
	return true
}

// remove takes a node away, whose postings then count for nothing.
func (t *workspaceTexts) remove(node uuid.UUID) {
	if n, known := t.place[node]; known {
		t.nodes[n].gone = true
		t.spoilt++
		delete(t.place, node)
	}
}

// add adds a posting to those of a term.
func (t *workspaceTexts) add(to *termPostings, p posting) {
	n, known := t.place[p.node]
	if !known {
		n = int32(len(t.nodes)) // bounded by the memory
		t.place[p.node] = n
		t.nodes = append(t.nodes, textNode{id: p.node, length: p.length})
	}
	to.nodes, to.counts = append(to.nodes, n), append(to.counts, p.count)
	t.postings++
}

// keep adds terms with all their postings, as of a revision; false: it is of another
// by now.
func (t *workspaceTexts) keep(revision int64, terms []string, postings [][]posting) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revision != revision {
		return false
	}
	t.loads++
	for i, term := range terms {
		if t.terms[term] != nil {
			continue // somebody was quicker
		}
		kept := &termPostings{nodes: make([]int32, 0, len(postings[i])), counts: make([]int16, 0, len(postings[i]))}
		for _, p := range postings[i] {
			t.add(kept, p)
		}
		t.terms[term] = kept
	}
	return true
}

// knows reports which of the terms are kept.
func (t *workspaceTexts) knows(terms []searchTerm) map[string]bool {
	known := make(map[string]bool, len(terms))
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, term := range terms {
		known[term.text] = t.terms[term.text] != nil
	}
	return known
}

// score scores the nodes that have some of the terms, as the statements of a search
// do, and gives the best. of are the nodes to be looked at; nil: all. false: a term is
// not kept any more.
func (t *workspaceTexts) score(
	terms []searchTerm, base, slope float64, of postgres.UUIDs, most int,
) ([]scoredNode, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, term := range terms {
		if t.terms[term.text] == nil {
			return nil, false
		}
	}
	sums := make([]float64, len(t.nodes))
	var looked []bool
	if of != nil {
		looked = make([]bool, len(t.nodes))
		for _, id := range of {
			if n, known := t.place[id.Bytes]; known {
				looked[n] = true
			}
		}
	}
	for _, term := range terms {
		p, weight := t.terms[term.text], term.weight*(bm25K1+1)
		for i, n := range p.nodes {
			if node := &t.nodes[n]; !node.gone && (looked == nil || looked[n]) {
				count := float64(p.counts[i])
				sums[n] += weight * count / (count + base + slope*float64(node.length))
			}
		}
	}
	return t.best(sums, most), true
}

// best returns the nodes of the greatest sums, in no order.
func (t *workspaceTexts) best(sums []float64, most int) []scoredNode {
	if most <= 0 {
		return nil
	}
	found := make([]float64, 0, len(sums))
	for _, sum := range sums {
		if sum > 0 {
			found = append(found, sum)
		}
	}
	least := 0.0
	if len(found) > most {
		least = nthGreatest(found, most)
	}
	best := make([]scoredNode, 0, min(most, len(found)))
	var equal []scoredNode // the last of the best score the same, maybe as many others
	for n, sum := range sums {
		switch {
		case sum > least:
			best = append(best, scoredNode{t.nodes[n].id, sum})
		case sum == least && sum > 0:
			equal = append(equal, scoredNode{t.nodes[n].id, sum})
		}
	}
	slices.SortFunc(equal, compareScored)
	return append(best, equal[:min(len(equal), most-len(best))]...)
}

// nthGreatest returns the n-th greatest of the values, and puts them in another order:
// of some thousand it takes a tenth of the time of sorting them. n is 1 to their number.
func nthGreatest(values []float64, n int) float64 {
	at, from, to := len(values)-n, 0, len(values)
	for rounds := 2 * bits.Len(uint(len(values))); to-from > 1; rounds-- {
		if rounds == 0 { // values that no pivot divides well
			slices.Sort(values[from:to])
			break
		}
		a, b, c := values[from], values[(from+to)/2], values[to-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := from, to-1
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case at <= j:
			to = j + 1
		case at >= i:
			from = i
		default:
			return values[at]
		}
	}
	return values[at]
}
