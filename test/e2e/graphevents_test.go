package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// graphStep is the change of one resource in an event.
type graphStep struct {
	Node    *graphResource
	Edge    *graphResource
	Cascade *struct {
		Restored bool
		Count    int64
		Edges    []uuid.UUID
	}
}

// graphEvent is the data of a change event.
type graphEvent struct {
	Sequence  int64
	CommandID uuid.UUID
	Type      string
	graphStep
	Steps []graphStep
}

// graphResource is a node or an edge, with the members that are compared.
type graphResource struct {
	ID           uuid.UUID
	Name         string
	EntityType   string
	SourceID     uuid.UUID
	TargetID     uuid.UUID
	RelationType string
	Properties   json.RawMessage
	Version      int64
	Deleted      bool
}

// eventReader reads all events of a workspace, and resumes after each restart of the server.
type eventReader struct {
	s      *server
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	events   []graphEvent
	failures []string
}

// readEvents starts an eventReader. It reads until stop.
func readEvents(s *server) *eventReader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &eventReader{s: s, cancel: cancel, done: make(chan struct{})}
	go r.run(ctx)
	return r
}

func (r *eventReader) run(ctx context.Context) {
	defer close(r.done)
	for ctx.Err() == nil {
		_ = r.connect(ctx) // the server was killed
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *eventReader) stop() {
	r.cancel()
	<-r.done
}

// connect reads events until the connection ends.
func (r *eventReader) connect(ctx context.Context) error {
	request, err := http.NewRequestWithContext(
		ctx, http.MethodGet, "http://"+r.s.Listen+"/api/queries/events?after=0", nil,
	)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+r.s.First.AdminKey)
	request.Header.Set("X-Workspace-Id", r.s.First.WorkspaceID)
	if last := r.last(); last > 0 {
		request.URL.RawQuery = ""
		request.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return r.read(bufio.NewScanner(response.Body))
}

// read parses the stream: one line per field, and a blank line after each event.
func (r *eventReader) read(lines *bufio.Scanner) error {
	lines.Buffer(nil, 64<<20)
	var id, kind, data string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data += value
		case "":
			if kind == "change" {
				r.add(id, data)
			}
			id, kind, data = "", "", ""
		}
	}
	return lines.Err()
}

func (r *eventReader) add(id, data string) {
	var event graphEvent
	err := json.Unmarshal([]byte(data), &event)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.failures = append(r.failures, fmt.Sprintf("event %s cannot be read: %v", id, err))
	case strconv.FormatInt(event.Sequence, 10) != id:
		r.failures = append(r.failures, fmt.Sprintf("event %s says it is change %d", id, event.Sequence))
	case event.Sequence != int64(len(r.events))+1:
		r.failures = append(r.failures, fmt.Sprintf("event %d came after %d", event.Sequence, len(r.events)))
	}
	r.events = append(r.events, event)
}

func (r *eventReader) last() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.events))
}

func (r *eventReader) violations() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures[:min(len(r.failures), 10)]
}

func (r *eventReader) waitFor(t *testing.T, sequence int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		return r.last() >= sequence || len(r.violations()) > 0
	}, time.Minute, 20*time.Millisecond,
		"the reader sees change %d", sequence)
}

// compareAnswers requires that the events contain each acknowledged command with its sequence, and no
// command twice.
func (r *eventReader) compareAnswers(t *testing.T, answers []commandResult) {
	t.Helper()
	seen := map[uuid.UUID]int64{}
	for _, event := range r.events {
		require.Zero(
			t, seen[event.CommandID], "command %s made changes %d and %d", event.CommandID, seen[event.CommandID],
			event.Sequence,
		)
		seen[event.CommandID] = event.Sequence
	}
	for _, a := range answers {
		require.Equal(t, a.Sequence, seen[a.CommandID], "%s %s was answered with its sequence", a.Type, a.CommandID)
	}
}

// graphState is the nodes and edges that are not deleted.
type graphState struct{ nodes, edges map[uuid.UUID]graphResource }

// fold builds the graph from the events.
func (r *eventReader) fold() graphState {
	nodes, edges := map[uuid.UUID]graphResource{}, map[uuid.UUID]graphResource{}
	for _, event := range r.events {
		steps := event.Steps
		if len(steps) == 0 {
			steps = []graphStep{event.graphStep}
		}
		touched := map[uuid.UUID]bool{} // a change increments a version once
		for _, step := range steps {
			if step.Node != nil {
				nodes[step.Node.ID] = *step.Node
			}
			if step.Edge != nil {
				edges[step.Edge.ID] = *step.Edge
				touched[step.Edge.ID] = true
			}
			if step.Cascade == nil {
				continue
			}
			for _, id := range step.Cascade.Edges {
				edge := edges[id]
				if edge.Deleted = !step.Cascade.Restored; !touched[id] {
					edge.Version++
				}
				edges[id], touched[id] = edge, true
			}
		}
	}
	return graphState{nodes: withoutDeleted(nodes), edges: withoutDeleted(edges)}
}

func withoutDeleted(all map[uuid.UUID]graphResource) map[uuid.UUID]graphResource {
	kept := map[uuid.UUID]graphResource{}
	for id, r := range all {
		if !r.Deleted {
			kept[id] = r
		}
	}
	return kept
}

// listGraph reads all pages of nodes and edges.
func listGraph(s *server) graphState {
	return graphState{nodes: listResources(s, "/api/queries/nodes"), edges: listResources(s, "/api/queries/edges")}
}

func listResources(s *server, path string) map[uuid.UUID]graphResource {
	s.t.Helper()
	all := map[uuid.UUID]graphResource{}
	query := url.Values{"limit": {"100"}}
	for {
		a, err := s.Try(http.MethodGet, path+"?"+query.Encode(), nil)
		require.NoError(s.t, err)
		require.Equal(s.t, http.StatusOK, a.Status, "%+v", a.Error)
		var page []graphResource
		require.NoError(s.t, json.Unmarshal(a.Data, &page))
		for _, r := range page {
			_, twice := all[r.ID] // NotContains would compare every key
			require.False(s.t, twice, "pages do not overlap: %s", r.ID)
			all[r.ID] = r
		}
		if a.Meta.NextCursor == "" {
			require.EqualValues(s.t, a.Meta.Total, len(all), "the total is what the pages hold")
			return all
		}
		query.Set("cursor", a.Meta.NextCursor)
	}
}

// compareGraphs requires that the graph from the events equals the graph from queries.
func compareGraphs(t *testing.T, folded, read graphState) {
	t.Helper()
	require.Equal(t, len(folded.nodes), len(read.nodes), "nodes")
	require.Equal(t, len(folded.edges), len(read.edges), "edges")
	for id, want := range folded.nodes {
		require.Equal(t, want, read.nodes[id], "node %s", id)
	}
	for id, want := range folded.edges {
		require.Equal(t, want, read.edges[id], "edge %s", id)
		_, source := read.nodes[want.SourceID]
		_, target := read.nodes[want.TargetID]
		require.True(t, source && target, "edge %s has its ends", id)
	}
}
