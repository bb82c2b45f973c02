// Package mirror keeps a part of a workspace's graph equal to a picture of it,
// through the public interface: nodes that appear in the picture are created,
// those that leave it are deleted, and what changes is updated.
//
// A [Mirror] owns what carries its mark (property managedBy) and touches nothing
// else: neither other nodes and edges nor properties it never wrote, even on its
// own nodes. What it owns is found again after a restart by its key, a name that
// the picture chooses, so that the same picture makes no second copy.
//
// [Diff] decides, without I/O; [Mirror.Sync] carries it out in batches, within a
// budget.
package mirror

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
)

// The properties that the mirror writes by itself.
const (
	ManagedBy = "managedBy" // on nodes and edges: the owner
	KeyOf     = "key"       // on nodes
	KindOf    = "kind"      // on nodes
)

// Picture is what the graph should look like.
type Picture struct {
	Nodes []Node
	Edges []Edge // their ends are among Nodes
	// Whole names the kinds of which the picture has all there are: nodes of these
	// that it does not have are deleted, and edges that begin at one. Nodes of other
	// kinds stay once they are there.
	Whole map[string]bool
}

// Node is a node as it should be.
type Node struct {
	Key         string // names it in the picture, and finds it again; not empty
	Kind        string
	Name        string
	EntityType  string
	Description string
	// Properties are strings, numbers, booleans or lists of them; nil: to be absent.
	Properties map[string]any
	// Fixed names properties that are written when the node is made and not
	// compared later: facts that cannot change but are not read exactly.
	Fixed []string
}

// Edge is an edge as it should be: there is one of a relation from a node to
// another.
type Edge struct {
	Source, Target string // keys
	Relation       string
}

// Known is what is there of an owner's part of the graph, as far as was read or
// written.
type Known struct {
	owner string
	nodes map[string]*knownNode // by key
	edges map[link]uuid.UUID
	spent map[string]string // key or link -> what makes another id, see spend
	extra []uuid.UUID       // nodes with a key that another has too
}

type knownNode struct {
	id                            uuid.UUID
	kind                          string
	name, entityType, description string
	properties                    client.Properties
}

// link is an edge between known nodes.
type link struct {
	source, target uuid.UUID
	relation       string
}

func (l link) String() string { return fmt.Sprintf("%s %s %s", l.source, l.relation, l.target) }

// NewKnown knows of nothing yet.
func NewKnown(owner string) *Known {
	return &Known{
		owner: owner, nodes: map[string]*knownNode{}, edges: map[link]uuid.UUID{}, spent: map[string]string{},
	}
}

// AddNode learns a node that stands. One that is not the owner's is none of ours.
func (k *Known) AddNode(n client.Node) {
	key := textOf(n.Properties[KeyOf])
	if key == "" || textOf(n.Properties[ManagedBy]) != k.owner {
		return
	}
	if _, twice := k.nodes[key]; twice {
		k.extra = append(k.extra, n.ID)
		return
	}
	known := &knownNode{
		id: n.ID, kind: textOf(n.Properties[KindOf]), name: n.Name, entityType: n.EntityType, properties: n.Properties,
	}
	if n.Description != nil {
		known.description = *n.Description
	}
	k.nodes[key] = known
}

// AddEdge learns an edge that stands.
func (k *Known) AddEdge(e client.Edge) {
	if textOf(e.Properties[ManagedBy]) == k.owner {
		k.edges[link{e.SourceID, e.TargetID, e.RelationType}] = e.ID
	}
}

// spend has the id that a key or an edge would get replaced by another, made
// with token: the first one was used and deleted, and is never free again.
func (k *Known) spend(what, token string) { k.spent[what] = token }

// ID returns the node that stands for a key.
func (k *Known) ID(key string) (uuid.UUID, bool) {
	n, ok := k.nodes[key]
	if !ok {
		return uuid.Nil, false
	}
	return n.id, true
}

// Counts returns how many nodes and edges are known.
func (k *Known) Counts() (nodes, edges int) { return len(k.nodes), len(k.edges) }

// Keys lists the known keys of a kind, sorted.
func (k *Known) Keys(kind string) []string {
	var keys []string
	for key, n := range k.nodes {
		if n.kind == kind {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// space is the name space of the ids that are derived from names (RFC 9562,
// version 5): the same name has the same id at every start.
var space = uuid.MustParse("6f1d0c1e-9d0b-5c0e-8a52-0f6a1f0f4b1d")

// newID returns the id for something that is to be made.
func (k *Known) newID(what string) uuid.UUID {
	return uuid.NewSHA1(space, []byte(k.owner+"\x00"+what+"\x00"+k.spent[what]))
}

func textOf(value jsontext.Value) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

// encode writes a property. Values are of the types that Properties allows, which
// JSON always has a form for.
func encode(value any) jsontext.Value {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("a property of type %T: %v", value, err))
	}
	return raw
}

// same reports whether two JSON values are the same, however they are written.
func same(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}
