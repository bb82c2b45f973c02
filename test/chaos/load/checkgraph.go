package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

// checkGraph compares the journal of the workspace with the answers and the events, and the stored
// graph with the journal.
func (t *tenant) checkGraph(ctx context.Context, stores Stores) (found []Violation, err error) {
	journal, count, err := readJournal(ctx, stores, t.uuid, t.history.last)
	if err != nil {
		return nil, err
	}
	found = t.history.follow(journal, t.graph.drainDepths())
	if count != t.history.last {
		found = append(found, Violation{5, "the journal has another number of entries than its newest sequence", fmt.Sprintf(
			"workspace %s: %d, sequence %d", t.id, count, t.history.last,
		)})
	}
	found = append(found, t.graph.compare(t.id, journal)...)
	found = append(found, compareEvents(t.id, journal, t.feed.drain())...)
	stored, totals, err := readGraph(ctx, stores, t.uuid)
	if err != nil {
		return found, err
	}
	found = append(found, compareGraphs(t.id, t.history.graph, stored, totals)...)
	wrong, err := t.compareTotals(ctx)
	return append(found, wrong...), err
}

// readJournal reads the entries after a sequence, and counts all entries.
func readJournal(
	ctx context.Context, stores Stores, workspace uuid.UUID, after int64,
) (journal []journalRow, count int64, err error) {
	found, err := stores.Postgres.Query(
		ctx, `SELECT sequence, command_id, change FROM journal WHERE workspace_id = $1 AND sequence > $2 ORDER BY sequence`,
		workspace, after,
	)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the journal: %w", err)
	}
	journal, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (r journalRow, err error) {
		var encoded []byte
		if err := row.Scan(&r.sequence, &r.command, &encoded); err != nil {
			return r, err
		}
		r.change, err = graphrecord.DecodeChange(encoded)
		return r, err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the journal: %w", err)
	}
	err = stores.Postgres.QueryRow(ctx, `SELECT count(*) FROM journal WHERE workspace_id = $1`, workspace).Scan(&count)
	return journal, count, err
}

// compare compares further entries of the journal with the answers: each applied command must be
// there once, under its sequence, and every other entry must be of a request whose outcome is
// unknown. It then clears the ledger.
func (g *ledger) compare(workspace string, journal []journalRow) (found []Violation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, row := range journal {
		id := row.change.CommandID
		want, known := g.applied[id]
		switch {
		case known && want == row.sequence:
			delete(g.applied, id)
		case known:
			found = appendLimited(found, Violation{
				4, "a command has had its effect at another place than was answered, or twice",
				fmt.Sprintf("workspace %s: command %s is change %d, answered was %d", workspace, id, row.sequence, want),
			})
		case g.failed[id] != "":
			found = appendLimited(found, Violation{4, "a command that was said to have failed had an effect", fmt.Sprintf(
				"workspace %s: command %s is change %d: %s", workspace, id, row.sequence, g.failed[id],
			)})
		case g.unchanged[id]:
			found = appendLimited(found, Violation{
				4, "a command that was said to have changed nothing is in the journal",
				fmt.Sprintf("workspace %s: command %s is change %d", workspace, id, row.sequence),
			})
		case !g.takeUnkeyed(row.change):
			found = appendLimited(found, Violation{
				4, "a change is in the journal of a command that nobody asked for, or that had its effect before",
				fmt.Sprintf(
					"workspace %s: %s %s of actor %s, request %s, is change %d", workspace, row.change.Type, id, row.change.Actor,
					row.change.RequestID, row.sequence,
				),
			})
		}
	}
	for id, sequence := range g.applied {
		found = appendLimited(found, Violation{4, "a command that was answered as applied has had no effect", fmt.Sprintf(
			"workspace %s: command %s, change %d", workspace, id, sequence,
		)})
	}
	clear(g.applied)
	clear(g.failed)
	clear(g.unchanged)
	clear(g.unkeyed)
	return found
}

// takeUnkeyed reports whether a change is of a request without a key whose outcome was unknown, and
// removes the request; each may be in the journal once.
func (g *ledger) takeUnkeyed(c *graph.Change) bool {
	for i := range c.Steps {
		var properties graph.Properties
		switch step := c.Steps[i]; {
		case step.Node != nil:
			properties = step.Node.Properties
		case step.Edge != nil:
			properties = step.Edge.Properties
		}
		mark, err := strconv.ParseInt(string(properties["mark"]), 10, 64)
		if err == nil && g.unkeyed[mark] {
			delete(g.unkeyed, mark)
			return true
		}
	}
	return false
}

func compareEvents(workspace string, journal []journalRow, events []event) (found []Violation) {
	bySequence := map[int64]journalRow{}
	for _, row := range journal {
		bySequence[row.sequence] = row
	}
	for _, e := range events {
		row, ok := bySequence[e.Sequence]
		if !ok {
			found = appendLimited(found, Violation{
				5, "an event is of a change that is not in the journal", fmt.Sprintf("workspace %s: %d", workspace, e.Sequence),
			})
			continue
		}
		if why := e.compare(row); why != "" {
			found = appendLimited(found, Violation{
				5, "an event says otherwise than the journal", fmt.Sprintf("workspace %s: %s", workspace, why),
			})
		}
		delete(bySequence, e.Sequence)
	}
	for sequence := range bySequence {
		found = appendLimited(found, Violation{
			5, "a change is in no event", fmt.Sprintf("workspace %s: %d", workspace, sequence),
		})
	}
	return found
}

// readGraph returns the stored graph of a workspace, and the stored totals of live nodes and edges
// by kind and label.
func readGraph(ctx context.Context, stores Stores, workspace uuid.UUID) (*graphtest.Memory, map[string]int64, error) {
	m := graphtest.NewMemory()
	var (
		n                  graph.Node
		e                  graph.Edge
		taken              *uuid.UUID
		properties, stamps []byte
		kind, live         int64
		label              string
	)
	const common = `properties::text, created_at, updated_at, version, changed_by, created_by, deleted, deleted_by,
		stamps::text, stamps_floor`
	fields := func(l *graph.Lifecycle) []any {
		return []any{
			&properties, &l.CreatedAt, &l.UpdatedAt, &l.Version, &l.ChangedBy, &l.CreatedBy, &l.Deleted, &l.DeletedBy, &stamps,
			&l.Floor,
		}
	}
	life := func(l *graph.Lifecycle, p *graph.Properties) (err error) {
		l.CreatedAt, l.UpdatedAt, l.Stamps = l.CreatedAt.UTC(), l.UpdatedAt.UTC(), nil
		if stamps != nil {
			if err := json.Unmarshal(stamps, &l.Stamps); err != nil {
				return err
			}
		}
		*p, err = graph.ReadProperties(jsontext.Value(properties))
		return err
	}
	totals := map[string]int64{}
	for _, q := range []struct {
		sql string
		dst []any
		do  func() error
	}{
		{`SELECT id, name, entity_type, description, ` + common + ` FROM nodes WHERE workspace_id = $1`,
			append([]any{&n.ID, &n.Name, &n.EntityType, &n.Description}, fields(&n.Lifecycle)...), func() error {
				node := n
				m.Nodes[n.ID] = &node
				return life(&node.Lifecycle, &node.Properties)
			}},
		{`SELECT id, source_id, target_id, relation_type, taken_sequence, taken_node, ` +
			common + ` FROM edges WHERE workspace_id = $1`,
			append([]any{&e.ID, &e.SourceID, &e.TargetID, &e.RelationType, &e.Taken.Sequence, &taken}, fields(&e.Lifecycle)...),
			func() error {
				edge := e
				if edge.Taken.Node = uuid.Nil; taken != nil {
					edge.Taken.Node = *taken
				}
				m.Edges[e.ID] = &edge
				return life(&edge.Lifecycle, &edge.Properties)
			}},
		{`SELECT kind, label, standing FROM graph_totals WHERE workspace_id = $1 AND standing <> 0`,
			[]any{&kind, &label, &live}, func() error {
				totals[fmt.Sprint(kind, " ", label)] = live
				return nil
			}},
	} {
		found, err := stores.Postgres.Query(ctx, q.sql, workspace)
		if err == nil {
			_, err = pgx.ForEachRow(found, q.dst, q.do)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading the graph: %w", err)
		}
	}
	return m, totals, nil
}

// compareGraphs compares the stored graph with the graph that results from the journal.
func compareGraphs(workspace string, want, stored *graphtest.Memory, totals map[string]int64) (found []Violation) {
	const what = "what stands is not what the journal adds up to"
	counts := map[string]int64{}
	for id, n := range want.Nodes {
		if !n.Deleted {
			counts["1 "+string(n.EntityType)]++
		}
		if got := stored.Nodes[id]; !reflect.DeepEqual(got, n) {
			found = appendLimited(found, Violation{5, what, fmt.Sprintf(
				"workspace %s, node %s: %s, must be %s", workspace, id, jsonOf(got), jsonOf(n),
			)})
		}
	}
	for id, e := range want.Edges {
		if !e.Deleted {
			counts["2 "+e.RelationType]++
		}
		if got := stored.Edges[id]; !reflect.DeepEqual(got, e) {
			found = appendLimited(found, Violation{5, what, fmt.Sprintf(
				"workspace %s, edge %s: %s, must be %s", workspace, id, jsonOf(got), jsonOf(e),
			)})
		}
	}
	for id, n := range stored.Nodes {
		if want.Nodes[id] == nil {
			found = appendLimited(found, Violation{5, what, fmt.Sprintf(
				"workspace %s, node %s is in no change: %s", workspace, id, jsonOf(n),
			)})
		}
	}
	for id, e := range stored.Edges {
		if want.Edges[id] == nil {
			found = appendLimited(found, Violation{5, what, fmt.Sprintf(
				"workspace %s, edge %s is in no change: %s", workspace, id, jsonOf(e),
			)})
		}
		source, target := stored.Nodes[e.SourceID], stored.Nodes[e.TargetID]
		if !e.Deleted && (source == nil || source.Deleted || target == nil || target.Deleted) {
			found = appendLimited(found, Violation{7, "an edge stands without an end", fmt.Sprintf(
				"workspace %s, edge %s from %s to %s", workspace, id, e.SourceID, e.TargetID,
			)})
		}
	}
	if !reflect.DeepEqual(counts, totals) {
		found = append(found, Violation{5, "the totals are not what stands", fmt.Sprintf(
			"workspace %s: %v, must be %v", workspace, totals, counts,
		)})
	}
	return found
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return clip(text)
}

// compareTotals compares the totals that the API returns with the graph.
func (t *tenant) compareTotals(ctx context.Context) (found []Violation, err error) {
	nodes, edges := int64(0), int64(0)
	for _, n := range t.history.graph.Nodes {
		if !n.Deleted {
			nodes++
		}
	}
	for _, e := range t.history.graph.Edges {
		if !e.Deleted {
			edges++
		}
	}
	for path, want := range map[string]int64{"/api/queries/nodes": nodes, "/api/queries/edges": edges} {
		query := url.Values{"limit": {"1"}}
		a, err := t.load.client.doUntilAnswered(ctx, call{
			key: t.admin, method: http.MethodGet, path: path + "?" + query.Encode(),
		})
		if err != nil {
			return found, err
		}
		if a.Status != http.StatusOK || a.Meta.Total != want {
			found = append(found, Violation{5, "the API counts otherwise than what stands", fmt.Sprintf(
				"workspace %s, %s: %d, total %d, must be %d", t.id, path, a.Status, a.Meta.Total, want,
			)})
		}
	}
	return found, nil
}
