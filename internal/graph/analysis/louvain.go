package analysis

// Limits of Louvain's method. Graphs of millions of edges need about ten levels, and few passes after the first ones.
const (
	maxLevels = 64
	maxPasses = 100
	// minGain is the gain of modularity below which a move is not worth it: it may be an error of rounding.
	minGain = 1e-12
	// minMoved is the share of nodes that a pass must move for another pass to follow. What few nodes would gain is not
	// worth a pass; the next level gains it.
	minMoved = 1e-4
)

// level is a graph of Louvain's method: each node is a group of nodes of the level below.
type level struct {
	adjacency
	strengths []float64 // of each node: the weights of its edges, twice those of edges inside of it
	total     float64   // of all strengths

	community []int32   // of each node, a number of a node
	sums      []float64 // of the strengths of each community
	sizes     []int32   // number of nodes of each community
	empty     []int32   // communities without nodes
	around    []float64 // weights to communities, 0 unless in touched
	touched   []int32
}

func newLevel(g *Graph) *level {
	l := &level{adjacency: *g.adjacency(Both), strengths: Degrees(g, Both)}
	l.begin()
	return l
}

// begin places each node in a community of its own.
func (l *level) begin() {
	n := len(l.strengths)
	l.community, l.sizes = make([]int32, n), make([]int32, n)
	l.sums, l.around = make([]float64, n), make([]float64, n)
	for i, strength := range l.strengths {
		l.community[i], l.sums[i], l.sizes[i] = int32(i), strength, 1
		l.total += strength
	}
}

// move moves nodes to the communities of their neighbors while that raises the modularity, and reports whether one
// moved.
func (l *level) move(check *ticker) (moved bool, err error) {
	if l.total == 0 {
		return false, nil
	}
	for range maxPasses {
		count := 0
		for node := range l.community {
			if l.moveNode(int32(node)) {
				count++
			}
			if err := check.tick(int(l.offsets[node+1]-l.offsets[node]) + 1); err != nil {
				return false, err
			}
		}
		moved = moved || count > 0
		if count == 0 || float64(count) < minMoved*float64(len(l.community)) {
			break
		}
	}
	return moved, nil
}

// moveNode moves a node to the community with the largest gain, which may be a new one. It reports whether the node
// moved.
func (l *level) moveNode(node int32) bool {
	own, strength := l.community[node], l.strengths[node]
	l.weigh(node)
	l.sums[own] -= strength
	scale, margin := strength/l.total, minGain*l.total
	// A gain is relative to a node alone. Comparisons have a margin, so that ties do not move nodes back and forth.
	best, most := own, l.around[own]-l.sums[own]*scale
	if l.sizes[own] > 1 && most < -margin {
		best, most = l.empty[len(l.empty)-1], 0 // there is one, because a community has two nodes
	}
	for _, c := range l.touched {
		if gain := l.around[c] - l.sums[c]*scale; gain > most+margin {
			best, most = c, gain
		}
	}
	l.clear()
	l.sums[best] += strength
	if best == own {
		return false
	}
	l.change(node, best)
	return true
}

// change moves a node to another community.
func (l *level) change(node, to int32) {
	from := l.community[node]
	if l.sizes[to] == 0 {
		l.empty = l.empty[:len(l.empty)-1] // only the last one is chosen
	}
	l.community[node] = to
	l.sizes[to]++
	if l.sizes[from]--; l.sizes[from] == 0 {
		l.sums[from] = 0 // without an error of rounding
		l.empty = append(l.empty, from)
	}
}

// weigh sums the weights of a node's edges by the community of the other end.
func (l *level) weigh(node int32) {
	first, end := l.row(int(node))
	for i := first; i < end; i++ {
		if neighbor := l.neighbors[i]; neighbor != node {
			l.add(l.community[neighbor], l.weight(i))
		}
	}
}

// add adds to the weight to a community.
func (l *level) add(community int32, weight float64) {
	if weight == 0 {
		return
	}
	if l.around[community] == 0 {
		l.touched = append(l.touched, community)
	}
	l.around[community] += weight
}

func (l *level) clear() {
	for _, c := range l.touched {
		l.around[c] = 0
	}
	l.touched = l.touched[:0]
}

// aggregate returns the level whose nodes are the communities of this one, and replaces in of the nodes of this level
// by those of the new one.
func (l *level) aggregate(check *ticker, of []int32) (*level, error) {
	groups := number(l.community)
	for i, node := range of {
		of[i] = groups.Of[node]
	}
	n := len(groups.Sizes)
	up := &level{strengths: make([]float64, n)}
	up.offsets = make([]int32, 1, n+1)
	up.weights = []float64{}
	for group, members := range membersOf(groups) {
		for _, node := range members {
			up.strengths[group] += l.strengths[node]
			first, end := l.row(int(node))
			for i := first; i < end; i++ {
				if other := groups.Of[l.neighbors[i]]; other != int32(group) {
					l.add(other, l.weight(i))
				}
			}
			if err := check.tick(int(end-first) + 1); err != nil {
				return nil, err
			}
		}
		for _, other := range l.touched {
			up.neighbors, up.weights = append(up.neighbors, other), append(up.weights, l.around[other])
		}
		l.clear()
		up.offsets = append(up.offsets, int32(len(up.neighbors)))
	}
	up.begin()
	return up, nil
}

// membersOf returns the nodes of each group by ascending number.
func membersOf(groups Groups) [][]int32 {
	all, members := make([]int32, len(groups.Of)), make([][]int32, len(groups.Sizes))
	at := 0
	for i, size := range groups.Sizes {
		members[i] = all[at : at : at+size]
		at += size
	}
	for node, group := range groups.Of {
		members[group] = append(members[group], int32(node))
	}
	return members
}
