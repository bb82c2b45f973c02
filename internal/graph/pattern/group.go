package pattern

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// Group is a set of matches that have the same nodes for some of the nodes of a pattern.
type Group struct {
	Nodes []uuid.UUID // of the nodes by which matches are grouped, in the order given
	Count int         // number of matches
}

// GroupBy groups matches by nodes of the pattern. The largest groups come first, equally large ones by the ids of their
// nodes.
func GroupBy(matches []Match, nodes []int) []Group {
	var groups []Group
	index := map[string]int{}
	for i := range matches {
		ids := make([]uuid.UUID, len(nodes))
		key := make([]byte, 0, len(nodes)*len(uuid.Nil))
		for j, node := range nodes {
			ids[j] = matches[i].Nodes[node]
			key = append(key, ids[j][:]...)
		}
		at, known := index[string(key)]
		if !known {
			at = len(groups)
			index[string(key)] = at
			groups = append(groups, Group{Nodes: ids})
		}
		groups[at].Count++
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), slices.CompareFunc(a.Nodes, b.Nodes, uuids.Compare))
	})
	return groups
}
