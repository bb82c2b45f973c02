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
	// cacheBytes is the approximate maximum size of the text cache of a process.
	cacheBytes = 48 << 20
	// maxCacheChanges is the maximum number of changed nodes with which the cache of a workspace
	// is updated. After more changes it is cleared.
	maxCacheChanges = 300
	// maxStaleNodes and a quarter of the nodes in the cache of a workspace is the maximum number
	// of stale nodes in it, which use memory until it is cleared.
	maxStaleNodes = 1_000

	postingBytes = 6
	nodeBytes    = 72 // including the map entry
	termBytes    = 128
)

// textCache has the postings of terms that were searched for, of the workspaces that were searched
// last. A search updates it with the changes since, by lexical_nodes.revision, so its results are
// never older than the snapshot that the search reads.
type textCache struct {
	maxBytes int64

	mu         sync.Mutex
	clock      int64
	workspaces map[uuid.UUID]*workspaceCache
}

func newTextCache(maxBytes int64) *textCache {
	return &textCache{maxBytes: maxBytes, workspaces: map[uuid.UUID]*workspaceCache{}}
}

// workspace returns the cache of a workspace. It returns nil if m is nil.
func (m *textCache) workspace(workspace uuid.UUID) *workspaceCache {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.workspaces[workspace]
	if t == nil {
		t = &workspaceCache{}
		t.clear(0)
		m.workspaces[workspace] = t
	}
	m.clock++
	t.lastUsed = m.clock
	return t
}

// evict removes the least recently searched workspaces until the others fit into maxBytes.
func (m *textCache) evict() {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, sum := make([]uuid.UUID, 0, len(m.workspaces)), int64(0)
	size := make(map[uuid.UUID]int64, len(m.workspaces))
	for id, t := range m.workspaces {
		size[id] = t.size()
		all, sum = append(all, id), sum+size[id]
	}
	slices.SortFunc(all, func(a, b uuid.UUID) int {
		return cmp.Compare(m.workspaces[a].lastUsed, m.workspaces[b].lastUsed)
	})
	for _, id := range all {
		if sum <= m.maxBytes {
			return
		}
		sum -= size[id]
		delete(m.workspaces, id) // searches in progress can still use it
	}
}

// workspaceCache has all postings of some terms of a workspace, as of a revision.
type workspaceCache struct {
	lastUsed int64 // clock of the textCache; guarded by its mutex

	mu       sync.RWMutex
	revision int64
	loads    int64 // number of times that terms were added
	nodes    []textNode
	index    map[uuid.UUID]int32 // of the current nodes, in nodes
	stale    int                 // number of removed nodes in nodes
	terms    map[string]*termPostings
	postings int
}

type textNode struct {
	id      uuid.UUID
	length  int32
	removed bool // deleted, or added again at a higher index
}

// termPostings are the postings of a term: the indexes of nodes, and the frequencies in them.
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

// textChange is a changed node. A node without terms was removed.
type textChange struct {
	node     uuid.UUID
	length   int32
	terms    string
	revision int64
}

// clear removes everything and sets the revision. The caller holds the lock, or has the only
// reference.
func (t *workspaceCache) clear(revision int64) {
	t.revision, t.loads = revision, t.loads+1
	t.nodes, t.stale, t.postings = nil, 0, 0
	t.index, t.terms = map[uuid.UUID]int32{}, map[string]*termPostings{}
}

func (t *workspaceCache) size() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return int64(t.postings)*postingBytes + int64(len(t.nodes))*nodeBytes + int64(len(t.terms))*termBytes
}

// version returns the revision and the number of times that terms were added.
func (t *workspaceCache) version() (revision, loads int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.revision, t.loads
}

// cachedPostings returns the pairs of cached terms and changed nodes whose postings must be read.
func (t *workspaceCache) cachedPostings(changes []textChange) (terms []string, nodes postgres.UUIDs) {
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

// reset clears the cache and sets the revision, unless the cache is as new already.
func (t *workspaceCache) reset(revision int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revision < revision {
		t.clear(revision)
	}
}

// advance updates the cache from one revision to another with the changes between them and their
// postings. It reports whether the cache is as new as to. It is not if it was changed concurrently.
func (t *workspaceCache) advance(from, loads, to int64, changes []textChange, found map[string][]posting) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.revision >= to:
		return true // another search has updated it
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
	if t.stale > maxStaleNodes+len(t.nodes)/4 {
		t.clear(to)
	}
	return true
}

// remove removes a node. Its postings stay and are ignored.
func (t *workspaceCache) remove(node uuid.UUID) {
	if n, known := t.index[node]; known {
		t.nodes[n].removed = true
		t.stale++
		delete(t.index, node)
	}
}

// add adds a posting to those of a term.
func (t *workspaceCache) add(dst *termPostings, p posting) {
	n, known := t.index[p.node]
	if !known {
		n = int32(len(t.nodes)) // the size of the cache limits it
		t.index[p.node] = n
		t.nodes = append(t.nodes, textNode{id: p.node, length: p.length})
	}
	dst.nodes, dst.counts = append(dst.nodes, n), append(dst.counts, p.count)
	t.postings++
}

// addTerms adds terms with all their postings, as of a revision. It returns false if the cache has
// another revision.
func (t *workspaceCache) addTerms(revision int64, terms []string, postings [][]posting) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revision != revision {
		return false
	}
	t.loads++
	for i, term := range terms {
		if t.terms[term] != nil {
			continue // another search has added it
		}
		added := &termPostings{nodes: make([]int32, 0, len(postings[i])), counts: make([]int16, 0, len(postings[i]))}
		for _, p := range postings[i] {
			t.add(added, p)
		}
		t.terms[term] = added
	}
	return true
}

// contains reports for each of the terms whether it is cached.
func (t *workspaceCache) contains(terms []searchTerm) map[string]bool {
	contained := make(map[string]bool, len(terms))
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, term := range terms {
		contained[term.text] = t.terms[term.text] != nil
	}
	return contained
}

// score scores the nodes that have some of the terms, like the statements of a search, and returns
// the limit best ones. If nodes is not nil, only these are scored. It returns false if a term is no
// longer cached.
func (t *workspaceCache) score(
	terms []searchTerm, base, slope float64, nodes postgres.UUIDs, limit int,
) ([]scoredNode, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, term := range terms {
		if t.terms[term.text] == nil {
			return nil, false
		}
	}
	sums := make([]float64, len(t.nodes))
	var selected []bool
	if nodes != nil {
		selected = make([]bool, len(t.nodes))
		for _, id := range nodes {
			if n, known := t.index[id.Bytes]; known {
				selected[n] = true
			}
		}
	}
	for _, term := range terms {
		p, weight := t.terms[term.text], term.weight*(bm25K1+1)
		for i, n := range p.nodes {
			if node := &t.nodes[n]; !node.removed && (selected == nil || selected[n]) {
				count := float64(p.counts[i])
				sums[n] += weight * count / (count + base + slope*float64(node.length))
			}
		}
	}
	return t.best(sums, limit), true
}

// best returns the limit nodes with the greatest sums, in no particular order.
func (t *workspaceCache) best(sums []float64, limit int) []scoredNode {
	if limit <= 0 {
		return nil
	}
	found := make([]float64, 0, len(sums))
	for _, sum := range sums {
		if sum > 0 {
			found = append(found, sum)
		}
	}
	threshold := 0.0
	if len(found) > limit {
		threshold = nthGreatest(found, limit)
	}
	best := make([]scoredNode, 0, min(limit, len(found)))
	var equal []scoredNode // nodes with the score of the last of the best
	for n, sum := range sums {
		switch {
		case sum > threshold:
			best = append(best, scoredNode{t.nodes[n].id, sum})
		case sum == threshold && sum > 0:
			equal = append(equal, scoredNode{t.nodes[n].id, sum})
		}
	}
	slices.SortFunc(equal, compareScored)
	return append(best, equal[:min(len(equal), limit-len(best))]...)
}

// nthGreatest returns the n-th greatest of the values, and reorders them. n is between 1 and their
// number. For several thousand values this takes a tenth of the time of sorting.
func nthGreatest(values []float64, n int) float64 {
	index, from, to := len(values)-n, 0, len(values)
	for rounds := 2 * bits.Len(uint(len(values))); to-from > 1; rounds-- {
		if rounds == 0 { // the pivots divide the values badly
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
		case index <= j:
			to = j + 1
		case index >= i:
			from = i
		default:
			return values[index]
		}
	}
	return values[index]
}
