package links

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/internal/retrieval/links"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/linkstore"
)

const (
	// maxIncoming is the maximum number of links to a node. Beyond it, further mentions of its name are
	// not linked, because so many links distinguish nothing.
	maxIncoming = 500
	// maxStored is the maximum number of links of a node that are read, including deleted ones.
	maxStored = 5_000
)

// evidence is the value of the property of a link.
type evidence struct {
	Kind   string  `json:"kind"` // name
	Text   string  `json:"text"` // the mention
	From   int     `json:"from"` // its position in the description, in bytes
	To     int     `json:"to"`
	Count  int     `json:"count"`  // of mentions
	Weight float64 `json:"weight"` // certainty
}

const kindName = "name"

// comparison is what the nodes of a workspace mention, and what links they have.
type comparison struct {
	*Linker
	workspace uuid.UUID
	nodes     map[uuid.UUID]graph.Node // those queued and the targets
	mentions  map[uuid.UUID][]links.Mention
	stored    map[uuid.UUID]map[uuid.UUID][]linkstore.Stored // by source and target
	incoming  map[uuid.UUID]int
	removals  map[int64]bool // whether the change with a sequence is one of the linker
}

// link compares queued nodes of a workspace, and sends the commands for their differences.
func (l *Linker) link(ctx context.Context, workspace uuid.UUID, queued []linkstore.Node) error {
	c := &comparison{Linker: l, workspace: workspace}
	if err := c.read(ctx, queued); err != nil {
		return err
	}
	var same, changed []linkstore.Node
	var records []kafka.Record
	for _, q := range queued {
		actions, err := c.actions(ctx, q.Node)
		switch {
		case err != nil:
			return err
		case len(actions) == 0:
			same = append(same, q)
			continue
		case q.Attempts == reportedAttempts:
			l.logger.Warn("the links of a node differ from its text after several attempts; they are tried again",
				"workspace", workspace, "node", q.Node)
		}
		record, err := c.record(actions)
		if err != nil {
			return err
		}
		changed, records = append(changed, q), append(records, record)
	}
	l.metrics.compared.WithLabelValues(resultSame).Add(float64(len(same)))
	l.metrics.compared.WithLabelValues(resultChanged).Add(float64(len(changed)))
	if err := l.deps.Graph.FinishLinkNodes(ctx, same); err != nil || len(changed) == 0 {
		return err
	}
	if err := l.deps.Log.ProduceCommands(ctx, records); err != nil {
		return err
	}
	return l.deps.Graph.DelayLinkNodes(ctx, changed, settleDelay)
}

// read reads the nodes, their mentions and their links.
func (c *comparison) read(ctx context.Context, queued []linkstore.Node) (err error) {
	ids := make([]uuid.UUID, len(queued))
	for i, q := range queued {
		ids[i] = q.Node
	}
	if c.nodes, err = c.deps.Graph.ReadNodes(ctx, c.workspace, ids, retrieval.Filter{}); err != nil {
		return err
	}
	spans := map[uuid.UUID][][]lexical.Span{}
	var keys []string
	for _, q := range queued {
		n, live := c.nodes[q.Node]
		if !live || n.Description == nil || !isLinked(&n, q.Mode) {
			continue
		}
		spans[n.ID] = lexical.Spans(*n.Description)
		keys = append(keys, links.Keys(spans[n.ID])...)
	}
	slices.Sort(keys)
	owners, err := c.deps.Graph.LinkOwners(ctx, c.workspace, slices.Compact(keys))
	if err != nil {
		return err
	}
	c.mentions = map[uuid.UUID][]links.Mention{}
	for id, list := range spans {
		n := c.nodes[id]
		own := links.NamesOf(&n)
		if mark := document.MarkOf(&n); mark != nil { // a passage has none
			own = append(own, links.NamesOf(&graph.Node{Name: mark.Title})...)
		}
		c.mentions[id] = links.Mentions(*n.Description, list, owners, own)
	}
	return c.readLinks(ctx, ids)
}

// isLinked reports whether the mentions of a node become links.
func isLinked(n *graph.Node, mode linkstore.Mode) bool {
	return mode == linkstore.All || mode == linkstore.Documents && document.MarkOf(n) != nil
}

// readLinks reads the links of the nodes, and their targets.
func (c *comparison) readLinks(ctx context.Context, ids []uuid.UUID) error {
	stored, err := c.deps.Graph.LinksOf(ctx, c.workspace, ids, maxStored)
	if err != nil {
		return err
	}
	c.stored = map[uuid.UUID]map[uuid.UUID][]linkstore.Stored{}
	for _, s := range stored {
		if c.stored[s.Source] == nil {
			c.stored[s.Source] = map[uuid.UUID][]linkstore.Stored{}
		}
		c.stored[s.Source][s.Target] = append(c.stored[s.Source][s.Target], s)
	}
	var targets []uuid.UUID
	for _, list := range c.mentions {
		for _, m := range list {
			targets = append(targets, m.Target)
		}
	}
	slices.SortFunc(targets, uuids.Compare)
	targets = slices.Compact(targets)
	found, err := c.deps.Graph.ReadNodes(ctx, c.workspace, targets, retrieval.Filter{})
	if err != nil {
		return err
	}
	for id, n := range found {
		c.nodes[id] = n
	}
	for id, list := range c.mentions {
		n := c.nodes[id]
		c.mentions[id] = links.Confirm(n.Name+"\n"+*n.Description, list, c.nodes)
	}
	c.incoming, err = c.deps.Graph.IncomingLinks(ctx, c.workspace, targets, maxIncoming)
	return err
}

// actions returns the commands that make the links of a node what its text mentions.
func (c *comparison) actions(ctx context.Context, node uuid.UUID) (actions []graph.Action, err error) {
	source, live := c.nodes[node]
	if !live {
		return nil, nil // its links were deleted with it
	}
	wanted := map[uuid.UUID]bool{}
	for _, m := range c.mentions[node] {
		target := c.nodes[m.Target]
		wanted[m.Target] = true
		action, err := c.linkTo(ctx, &source, &target, m)
		if err != nil {
			return nil, err
		}
		if action != nil {
			actions = append(actions, graph.Action{Payload: action})
		}
	}
	var stale []linkstore.Stored
	for target, list := range c.stored[node] {
		for _, s := range list {
			if !s.Deleted && !wanted[target] {
				stale = append(stale, s)
			}
		}
	}
	slices.SortFunc(stale, func(a, b linkstore.Stored) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	for _, s := range stale {
		c.metrics.changed.WithLabelValues(actionDelete).Inc()
		actions = append(actions, graph.Action{Payload: graph.DeleteEdge{ID: s.ID}})
	}
	return actions[:min(len(actions), graph.MaxBatch)], nil
}

// linkTo returns the command that makes the link to a target what a mention says; nil: none is needed.
func (c *comparison) linkTo(
	ctx context.Context, source, target *graph.Node, m links.Mention,
) (graph.Payload, error) {
	value := evidence{Kind: kindName, Text: m.Text, From: m.From, To: m.To, Count: m.Count, Weight: m.Weight}
	raw, err := json.Marshal(map[string]evidence{graph.LinkKey: value})
	if err != nil {
		return nil, fmt.Errorf("encoding the evidence of a link: %w", err)
	}
	list := c.stored[source.ID][target.ID]
	for _, s := range list {
		if s.Deleted {
			continue
		}
		var old map[string]evidence
		if json.Unmarshal(s.Properties, &old) == nil && old[graph.LinkKey] == value {
			return nil, nil
		}
		c.metrics.changed.WithLabelValues(actionUpdate).Inc()
		return graph.UpdateEdge{ID: s.ID, Properties: raw}, nil
	}
	generation, last := nextGeneration(source.ID, target.ID, list)
	removed, err := c.removedByUser(ctx, source, target, last)
	if err != nil || removed || c.incoming[target.ID] >= maxIncoming {
		return nil, err
	}
	c.incoming[target.ID]++
	c.metrics.changed.WithLabelValues(actionCreate).Inc()
	return graph.CreateEdge{
		ID: linkID(source.ID, target.ID, generation), SourceID: source.ID, TargetID: target.ID,
		RelationType: linkstore.Relation, Properties: raw,
	}, nil
}

// nextGeneration returns the generation of a new link between two nodes, and the last link, nil if there
// was none. The ids identify links, because a purge removes the properties of deleted edges.
func nextGeneration(
	source, target uuid.UUID, list []linkstore.Stored,
) (generation int, last *linkstore.Stored) {
	for {
		id := linkID(source, target, generation)
		index := slices.IndexFunc(list, func(s linkstore.Stored) bool { return s.ID == id })
		if index < 0 {
			return generation, last
		}
		last = &list[index]
		generation++
	}
}

// linkID returns the id of a link. generation is the number of deleted links between the nodes, because
// a deleted id cannot be used again.
func linkID(source, target uuid.UUID, generation int) uuid.UUID {
	name := append([]byte("link\x00"), target[:]...)
	return uuid.NewSHA1(source, append(name, strconv.Itoa(generation)...))
}

// removedByUser reports whether somebody else deleted the last link after the texts of both nodes were
// last changed. Such a link is not made again.
func (c *comparison) removedByUser(
	ctx context.Context, source, target *graph.Node, last *linkstore.Stored,
) (bool, error) {
	if last == nil || last.Cascade || last.DeletedBy == 0 ||
		last.UpdatedAt.Before(source.UpdatedAt) || last.UpdatedAt.Before(target.UpdatedAt) {
		return false, nil
	}
	own, known := c.removals[last.DeletedBy]
	if !known {
		actor, err := c.deps.Graph.ChangeActor(ctx, c.workspace, last.DeletedBy)
		if err != nil {
			return false, err
		}
		own = actor == graph.LinkerActor
		if c.removals == nil {
			c.removals = map[int64]bool{}
		}
		c.removals[last.DeletedBy] = own
	}
	return !own, nil
}

// record returns the record of the commands of one node, which are applied together. If they are
// written twice, the second record fails and changes nothing.
func (c *comparison) record(actions []graph.Action) (kafka.Record, error) {
	requestID := "req_" + ulid.Make().String() // every change has one, in the form of those of the API
	encoded, err := graphrecord.EncodeRequest(&graphrecord.Request{
		Workspace: c.workspace, Mode: graphrecord.Atomic, ID: uuid.Must(uuid.NewV7()), Actions: actions,
		Origin: graph.Origin{
			Actor: graph.LinkerActor, Scopes: []string{"write:edges"}, AcceptedAt: time.Now().UTC().Truncate(time.Microsecond),
			RequestID: requestID,
		},
	})
	if err != nil {
		return kafka.Record{}, err
	}
	return kafka.Record{Workspace: c.workspace, Value: encoded, RequestID: requestID}, nil
}
