package mirror

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
)

// Step is one command of the way from what is known to the picture.
type Step struct {
	Command client.Command
	// what it is about, for when it was refused: a key, or a link's text
	what string
	// learn makes known what the command did
	learn func(*Known)
}

// Diff returns the commands that make what is known equal to the picture, in an
// order in which each finds what it needs: deletions, nodes, edges. Carried out up
// to any of them, the graph is sound. It changes nothing.
func Diff(p Picture, k *Known) []Step {
	d := &diff{known: k, wanted: make(map[string]uuid.UUID, len(p.Nodes)), going: map[uuid.UUID]bool{}}
	var nodes []Step
	for _, n := range p.Nodes {
		if _, twice := d.wanted[n.Key]; twice || n.Key == "" {
			continue
		}
		if there, ok := k.nodes[n.Key]; ok {
			d.wanted[n.Key] = there.id
			nodes = append(nodes, d.update(n, there)...)
		} else {
			d.wanted[n.Key] = k.newID(n.Key)
			nodes = append(nodes, d.create(n))
		}
	}
	gone := d.goneNodes(p.Whole)
	connect, kept := d.newEdges(p.Edges)
	return slices.Concat(d.goneEdges(p.Whole, kept), gone, nodes, connect)
}

type diff struct {
	known  *Known
	wanted map[string]uuid.UUID // id by key, of the picture's nodes
	going  map[uuid.UUID]bool   // nodes that are deleted
}

func (d *diff) create(n Node) Step {
	id := d.wanted[n.Key]
	properties := d.properties(n)
	for name, value := range properties {
		if bytes.Equal(value, null) {
			delete(properties, name)
		}
	}
	payload := client.NewNode{ID: id, Name: n.Name, EntityType: n.EntityType, Properties: properties}
	if n.Description != "" {
		payload.Description = &n.Description
	}
	return Step{
		Command: client.Command{Type: client.CreateNode, Payload: payload}, what: n.Key,
		learn: func(k *Known) {
			k.nodes[n.Key] = &knownNode{
				id: id, kind: n.Kind, name: n.Name, entityType: n.EntityType, description: n.Description, properties: properties,
			}
		},
	}
}

var null = encode(nil)

// properties returns a node's properties with those that every node has.
func (d *diff) properties(n Node) client.Properties {
	properties := client.Properties{
		ManagedBy: encode(d.known.owner), KeyOf: encode(n.Key), KindOf: encode(n.Kind),
	}
	for name, value := range n.Properties {
		properties[name] = encode(value)
	}
	return properties
}

// update returns the command that makes a node as it should be, none if it is.
func (d *diff) update(n Node, there *knownNode) []Step {
	patch := client.NodePatch{ID: there.id}
	changed := false
	set := func(field **string, is, should string) {
		if is != should {
			*field, changed = &should, true
		}
	}
	set(&patch.Name, there.name, n.Name)
	set(&patch.EntityType, there.entityType, n.EntityType)
	set(&patch.Description, there.description, n.Description)
	for name, should := range d.properties(n) {
		is, has := there.properties[name]
		if slices.Contains(n.Fixed, name) && has {
			continue
		}
		if (!has && !bytes.Equal(should, null)) || (has && !same(is, should)) {
			if patch.Properties == nil {
				patch.Properties = client.Properties{}
			}
			patch.Properties[name], changed = should, true
		}
	}
	if !changed {
		return nil
	}
	return []Step{{
		Command: client.Command{Type: client.UpdateNode, Payload: patch}, what: n.Key,
		learn: func(k *Known) { k.nodes[n.Key] = there.patched(n, patch.Properties) },
	}}
}

// patched is the node after an update.
func (n *knownNode) patched(to Node, patch client.Properties) *knownNode {
	properties := maps.Clone(n.properties)
	if properties == nil {
		properties = client.Properties{}
	}
	for name, value := range patch {
		if bytes.Equal(value, null) {
			delete(properties, name)
		} else {
			properties[name] = value
		}
	}
	return &knownNode{
		id: n.id, kind: to.Kind, name: to.Name, entityType: to.EntityType, description: to.Description,
		properties: properties,
	}
}

// goneNodes returns the deletions of nodes; their edges go with them.
func (d *diff) goneNodes(whole map[string]bool) []Step {
	var steps []Step
	for _, id := range d.known.extra {
		steps = append(steps, d.deleteNode("", id))
	}
	for _, key := range slices.Sorted(maps.Keys(d.known.nodes)) {
		n := d.known.nodes[key]
		if _, wanted := d.wanted[key]; !wanted && whole[n.kind] {
			steps = append(steps, d.deleteNode(key, n.id))
		}
	}
	return steps
}

func (d *diff) deleteNode(key string, id uuid.UUID) Step {
	d.going[id] = true
	return Step{
		Command: client.Command{Type: client.DeleteNode, Payload: client.Resource{ID: id}}, what: key,
		learn: func(k *Known) {
			if n := k.nodes[key]; n != nil && n.id == id {
				delete(k.nodes, key)
			}
			k.extra = slices.DeleteFunc(k.extra, func(extra uuid.UUID) bool { return extra == id })
			maps.DeleteFunc(k.edges, func(l link, _ uuid.UUID) bool { return l.source == id || l.target == id })
		},
	}
}

// newEdges returns the edges to make, and the links that the picture has.
func (d *diff) newEdges(edges []Edge) (steps []Step, wanted map[link]bool) {
	wanted = make(map[link]bool, len(edges))
	for _, e := range edges {
		source, hasSource := d.wanted[e.Source]
		target, hasTarget := d.wanted[e.Target]
		l := link{source, target, e.Relation}
		if !hasSource || !hasTarget || wanted[l] {
			continue
		}
		wanted[l] = true
		if _, there := d.known.edges[l]; there {
			continue
		}
		id := d.known.newID(l.String())
		steps = append(steps, Step{
			Command: client.Command{Type: client.CreateEdge, Payload: client.NewEdge{
				ID: id, SourceID: source, TargetID: target, RelationType: e.Relation,
				Properties: client.Properties{ManagedBy: encode(d.known.owner)},
			}},
			what: l.String(), learn: func(k *Known) { k.edges[l] = id },
		})
	}
	return steps, wanted
}

// goneEdges returns the deletions of edges whose ends stay.
func (d *diff) goneEdges(whole map[string]bool, wanted map[link]bool) []Step {
	kinds := make(map[uuid.UUID]string, len(d.known.nodes))
	for _, n := range d.known.nodes {
		kinds[n.id] = n.kind
	}
	var gone []link
	for l := range d.known.edges {
		if !wanted[l] && whole[kinds[l.source]] && !d.going[l.source] && !d.going[l.target] {
			gone = append(gone, l)
		}
	}
	slices.SortFunc(gone, func(a, b link) int { return cmp.Compare(a.String(), b.String()) })
	steps := make([]Step, len(gone))
	for i, l := range gone {
		steps[i] = Step{
			Command: client.Command{Type: client.DeleteEdge, Payload: client.Resource{ID: d.known.edges[l]}},
			what:    l.String(), learn: func(k *Known) { delete(k.edges, l) },
		}
	}
	return steps
}
