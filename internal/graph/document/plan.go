package document

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// Outcome is what a change does to a document.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Deleted   Outcome = "deleted"
)

// State is the current state of a document.
type State struct {
	Document *graph.Node  // nil: there is none, and FreeID is the id for a new one
	Passages []graph.Node // in the order of their indexes
	FreeID   uuid.UUID
}

// Change is how a document gets to its new state: actions for an atomic batch. If the document
// changes in the meantime, the batch fails with a conflict and the change must be planned again.
type Change struct {
	Outcome Outcome
	ID      uuid.UUID // of the document's node
	Actions []graph.Action
}

// Put plans the creation of a document, or its change to another content. A document with the same
// hash stays unchanged. Passages whose text is the same keep their nodes.
func Put(src *Source, state State) (Change, error) {
	if state.Document == nil {
		return create(src, state.FreeID)
	}
	mark := MarkOf(state.Document)
	if mark.Hash == src.Hash {
		return Change{Outcome: Unchanged, ID: state.Document.ID}, nil
	}
	return update(src, &state, mark)
}

// Delete plans the deletion of a document with its passages. Their edges are deleted with them.
func Delete(state State) Change {
	version := state.Document.Version
	c := Change{Outcome: Deleted, ID: state.Document.ID, Actions: []graph.Action{
		{Payload: graph.DeleteNode{ID: state.Document.ID}, ExpectedVersion: &version},
	}}
	for i := range state.Passages {
		c.add(graph.DeleteNode{ID: state.Passages[i].ID})
	}
	return c
}

func (c *Change) add(p graph.Payload) { c.Actions = append(c.Actions, graph.Action{Payload: p}) }

func create(src *Source, id uuid.UUID) (Change, error) {
	c := Change{Outcome: Created, ID: id}
	properties, err := markProperty(src.mark(id, 1), nil)
	if err != nil {
		return c, err
	}
	c.add(graph.CreateNode{
		ID: id, Name: src.Title, EntityType: EntityType, Description: src.description(), Properties: properties,
	})
	return c, c.createPassages(src, src.passages(), 1)
}

// createPassages adds the creation of passages. version is the version of the document's node after
// the change.
func (c *Change) createPassages(src *Source, passages []Passage, version int64) error {
	for i := range passages {
		p := &passages[i]
		id := passageID(c.ID, version, p.Index)
		properties, err := markProperty(src.passageMark(c.ID, p), nil)
		if err != nil {
			return err
		}
		c.add(graph.CreateNode{
			ID: id, Name: src.passageName(p), EntityType: EntityType, Description: &p.Text, Properties: properties,
		})
		c.add(graph.CreateEdge{ID: edgeID(id), SourceID: c.ID, TargetID: id, RelationType: Contains})
	}
	return nil
}

func update(src *Source, state *State, old *Mark) (Change, error) {
	c := Change{Outcome: Updated, ID: state.Document.ID}
	properties, err := markProperty(src.mark(c.ID, old.Revision+1), state.Document.Properties[Key])
	if err != nil {
		return c, err
	}
	version := state.Document.Version
	description := src.description()
	c.Actions = append(c.Actions, graph.Action{ExpectedVersion: &version, Payload: graph.UpdateNode{
		ID: c.ID, Name: &src.Title, Description: description, ClearDescription: description == nil, Properties: properties,
	}})
	return c, c.replacePassages(src, state.Passages, version+1)
}

// replacePassages adds the changes of passages. A passage with the same text keeps its node. The
// nodes of texts that are gone get the new texts in order. What is left over is deleted or created.
func (c *Change) replacePassages(src *Source, old []graph.Node, version int64) error {
	byText := map[string][]int{}
	for i := range old {
		if d := old[i].Description; d != nil {
			byText[*d] = append(byText[*d], i)
		}
	}
	passages := src.passages()
	node := make([]int, len(passages)) // index of the node of each passage; -1: none
	used := make([]bool, len(old))
	for i := range passages {
		node[i] = -1
		if same := byText[passages[i].Text]; len(same) > 0 {
			node[i], byText[passages[i].Text] = same[0], same[1:]
			used[same[0]] = true
		}
	}
	next := 0
	var created []Passage
	for i := range passages {
		for node[i] < 0 && next < len(old) {
			if !used[next] {
				node[i], used[next] = next, true
			}
			next++
		}
		if node[i] < 0 {
			created = append(created, passages[i])
			continue
		}
		if err := c.updatePassage(src, &passages[i], &old[node[i]]); err != nil {
			return err
		}
	}
	for i := range old {
		if !used[i] {
			c.add(graph.DeleteNode{ID: old[i].ID})
		}
	}
	return c.createPassages(src, created, version)
}

// updatePassage adds the update of a passage. Fields that are equal do not change.
func (c *Change) updatePassage(src *Source, p *Passage, old *graph.Node) error {
	properties, err := markProperty(src.passageMark(c.ID, p), old.Properties[Key])
	if err != nil {
		return err
	}
	name := src.passageName(p)
	c.add(graph.UpdateNode{ID: old.ID, Name: &name, Description: &p.Text, Properties: properties})
	return nil
}

// description returns the description of the document's node; nil: none.
func (s *Source) description() *string {
	if len(s.Passages) != 1 {
		return nil
	}
	return &s.Passages[0].Text
}

// passages returns the parts of the text that are nodes of their own.
func (s *Source) passages() []Passage {
	if len(s.Passages) < 2 {
		return nil
	}
	return s.Passages
}

func (s *Source) mark(id uuid.UUID, revision int64) Mark {
	return Mark{
		ID: id, ExternalID: s.ExternalID, Title: s.Title, Hash: s.Hash, Revision: revision, ContentType: s.ContentType,
		SourceURL: s.SourceURL, Tags: s.Tags, Timestamp: s.Timestamp, Passages: len(s.passages()),
	}
}

func (s *Source) passageMark(document uuid.UUID, p *Passage) Mark {
	return Mark{ID: document, ExternalID: s.ExternalID, Title: s.Title, Passage: &p.Position}
}

// passageName returns the name of a passage: the title, the heading of its section and its number.
// So its words and its vector contain what the passage is about.
func (s *Source) passageName(p *Passage) string {
	suffix := " (" + strconv.Itoa(p.Index+1) + ")"
	name := s.Title
	if p.Heading != "" && p.Heading != s.Title {
		name += " – " + p.Heading
	}
	return truncate.Runes(name, graph.MaxName-len(suffix)) + suffix
}

// markProperty returns the merge patch that changes the property from old to a mark. old is nil if
// the node is created.
func markProperty(m Mark, old jsontext.Value) (jsontext.Value, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding the mark of a document: %w", err)
	}
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("reading the mark of a document: %w", err)
	}
	if err := removeOthers(members, old); err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{Key: members}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding the property of a document: %w", err)
	}
	return patch, nil
}

// removeOthers sets the members to null that only the old value has, at the level of the mark and of
// its position: that is how a merge patch removes them.
func removeOthers(members map[string]jsontext.Value, old jsontext.Value) error {
	if old == nil {
		return nil
	}
	var before map[string]jsontext.Value
	if err := json.Unmarshal(old, &before); err != nil {
		return fmt.Errorf("reading the old mark of a document: %w", err)
	}
	for name, value := range before {
		now, kept := members[name]
		switch {
		case !kept:
			members[name] = jsontext.Value("null")
		case now.Kind() == '{' && value.Kind() == '{':
			var inner map[string]jsontext.Value
			if err := json.Unmarshal(now, &inner); err != nil {
				return fmt.Errorf("reading a position: %w", err)
			}
			if err := removeOthers(inner, value); err != nil {
				return err
			}
			merged, err := json.Marshal(inner, json.Deterministic(true))
			if err != nil {
				return fmt.Errorf("encoding a position: %w", err)
			}
			members[name] = merged
		}
	}
	return nil
}
