package documents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/extract"
)

const (
	// submitted is the number of documents whose commands are written to the log at once, and
	// submittedBytes the number of bytes of content after which no more are added.
	submitted      = 250
	submittedBytes = 1 << 20
	// maxAttempts is how often a change is planned again because the document changed meanwhile.
	maxAttempts = commands.MaxAttempts
	// freeIDWindow is how many generations of ids are looked up at first. Each further look-up has
	// eight times as many.
	freeIDWindow = 4
	maxWindow    = 2048
)

// result is the result of a document in the response.
type result struct {
	Index      int              `json:"index"`
	ID         uuid.UUID        `json:"id"`
	ExternalID string           `json:"externalId"`
	Status     document.Outcome `json:"status"`
	CommandID  *uuid.UUID       `json:"commandId"` // null: nothing changed
}

type putAnswer struct {
	Documents []result `json:"documents"`
}

// put creates or changes documents.
func (a *api) put(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	waitTimeout, err := commands.ReadWaitTimeout(w, r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, maxBody, request.WithBudget(a.Bodies))
	if err != nil {
		return err
	}
	defer release()
	list, err := readDocuments(body)
	if err != nil {
		return err
	}
	p := &putting{
		api: a, workspace: request.PrincipalOf(r.Context()).Workspace,
		answer: putAnswer{Documents: make([]result, len(list))},
	}
	if err := a.withSlot(r.Context(), func() error { return checkSplits(list) }); err != nil {
		return err
	}
	if err := p.readFiles(r.Context(), list); err != nil {
		return err
	}
	p.deadline = time.Now().Add(waitTimeout)
	for len(list) > 0 {
		n := groupSize(list)
		if err := p.putGroup(r.Context(), list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	reply.Data(w, r, http.StatusAccepted, p.answer)
	return nil
}

// checkSplits returns the error of the first document whose text cannot be split, before any of them
// is written. Only texts that may be too long are extracted for that.
func checkSplits(list []*content) error {
	for _, d := range list {
		if len(d.text) <= extract.MaxText {
			continue
		}
		if err := d.split(); err != nil {
			return err
		}
		d.Passages = nil
	}
	return nil
}

func groupSize(list []*content) int {
	n, size := 0, 0
	for n < min(len(list), submitted) && size < submittedBytes {
		size += len(list[n].text)
		if read := list[n].read; read != nil {
			size += len(read.Body)
		}
		n++
	}
	return n
}

// putting is a request that creates or changes documents.
type putting struct {
	*api
	workspace uuid.UUID
	deadline  time.Time // of the outcomes
	answer    putAnswer
}

// putGroup brings documents to their new state. Those that changed since they were read are read and
// compared again.
func (p *putting) putGroup(ctx context.Context, group []*content) error {
	for range maxAttempts {
		changes, err := p.plan(ctx, group)
		if err != nil {
			return err
		}
		again, err := p.apply(ctx, group, changes)
		if err != nil || len(again) == 0 {
			return err
		}
		group = again
	}
	return fault.New(fault.Unavailable, "A document is being changed by others; send the request again").
		With("field", fmt.Sprintf("documents[%d]", group[0].index)).After(time.Second)
}

// apply submits the changes, records their results and returns the documents whose changes conflict
// with others.
func (p *putting) apply(
	ctx context.Context, group []*content, changes []document.Change,
) (again []*content, err error) {
	var batches [][]graph.Action
	var of []int // index in the group of each batch
	for i, c := range changes {
		p.answer.Documents[group[i].index] = result{
			Index: group[i].index, ID: c.ID, ExternalID: group[i].ExternalID, Status: c.Outcome,
		}
		if len(c.Actions) > 0 {
			batches, of = append(batches, c.Actions), append(of, i)
		}
	}
	if len(batches) == 0 {
		return nil, nil
	}
	decided, err := p.Commands.Submit(ctx, batches, time.Until(p.deadline))
	if err != nil {
		return nil, err
	}
	for i, d := range decided {
		source := group[of[i]]
		switch {
		case d.Err == nil:
			p.answer.Documents[source.index].CommandID = &d.CommandID
		case isConflict(d.Err):
			again = append(again, source)
		default:
			return nil, publicError(d.Err, source.index)
		}
	}
	return again, nil
}

// isConflict reports whether commands failed because the document changed after it was read: its node
// has another version or exists already, or a passage was deleted.
func isConflict(err error) bool {
	return fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound)
}

// publicError returns the error of a document's commands with the document as its field.
func publicError(err error, index int) error {
	public := reply.Public(err)
	if public.Kind != fault.Invalid && public.Kind != fault.Malformed {
		return err
	}
	reason, _ := public.Details["reason"].(string)
	return fault.Field(fault.Invalid, fmt.Sprintf("documents[%d]", index), reason).Because(err)
}

// plan reads the current state of documents and returns their changes.
func (p *putting) plan(ctx context.Context, group []*content) ([]document.Change, error) {
	states, err := p.states(ctx, externalIDs(group))
	if err != nil {
		return nil, err
	}
	changes := make([]document.Change, len(group))
	err = p.withSlot(ctx, func() error {
		for i, d := range group {
			state := states[d.ExternalID]
			if !d.isStored(state) {
				if err := p.prepare(ctx, d, &state); err != nil {
					return err
				}
			}
			if changes[i], err = document.Put(&d.Source, state); err != nil {
				return err
			}
			if len(changes[i].Actions) > graph.MaxBatch {
				return fault.Field(fault.Invalid, fmt.Sprintf("documents[%d]", d.index),
					"has too many passages in the graph; delete the document first")
			}
			d.Passages = nil // they are in the actions
		}
		return nil
	})
	return changes, err
}

// externalIDs returns the external ids of documents.
func externalIDs(group []*content) []string {
	ids := make([]string, len(group))
	for i, d := range group {
		ids[i] = d.ExternalID
	}
	return ids
}

// isStored reports whether the document has the same content already.
func (d *content) isStored(state document.State) bool {
	return state.Document != nil && document.MarkOf(state.Document).Hash == d.Hash
}

// prepare splits the text of a document and reads its current passages.
func (p *putting) prepare(ctx context.Context, d *content, state *document.State) (err error) {
	if err := p.readFile(ctx, d); err != nil {
		return err
	}
	if err := d.split(); err != nil || state.Document == nil {
		return err
	}
	state.Passages, err = p.passages(ctx, p.workspace, state.Document)
	return err
}

// states reads the states of documents by their external ids, without passages.
func (p *putting) states(ctx context.Context, externalIDs []string) (map[string]document.State, error) {
	states := make(map[string]document.State, len(externalIDs))
	if err := p.addDocuments(ctx, states, externalIDs); err != nil {
		return nil, err
	}
	created := slices.DeleteFunc(slices.Clone(externalIDs), func(id string) bool { _, known := states[id]; return known })
	free, err := p.freeIDs(ctx, created)
	if err != nil {
		return nil, err
	}
	var again []string
	for externalID, id := range free {
		states[externalID] = document.State{FreeID: id}
		if id != document.ID(p.workspace, externalID, 0) {
			again = append(again, externalID)
		}
	}
	if len(again) == 0 {
		return states, nil
	}
	// The first id can be that of a document that was created after the documents were read. Without a
	// second look, there would be two.
	return states, p.addDocuments(ctx, states, again)
}

// addDocuments adds the states of the documents that exist.
func (p *putting) addDocuments(ctx context.Context, states map[string]document.State, externalIDs []string) error {
	nodes, err := p.Graph.DocumentNodes(ctx, p.workspace, externalIDs)
	for i := range nodes {
		mark := document.OwnMark(&nodes[i])
		if mark != nil && states[mark.ExternalID].Document == nil { // the oldest, if an undo restored another one
			states[mark.ExternalID] = document.State{Document: &nodes[i]}
		}
	}
	return err
}

// errNoFreeID means that a document was deleted so often that no id was found for a new one.
var errNoFreeID = errors.New("no free id was found")

// freeIDs returns the first id of each new document that no node has or had.
func (p *putting) freeIDs(ctx context.Context, externalIDs []string) (map[string]uuid.UUID, error) {
	free := make(map[string]uuid.UUID, len(externalIDs))
	from := 0
	for window := 1; len(externalIDs) > 0; window = max(window*8, freeIDWindow) {
		if window > maxWindow {
			return nil, errNoFreeID
		}
		var ids []uuid.UUID
		for _, externalID := range externalIDs {
			for generation := range window {
				ids = append(ids, document.ID(p.workspace, externalID, from+generation))
			}
		}
		used, err := p.Graph.UsedNodeIDs(ctx, p.workspace, ids)
		if err != nil {
			return nil, err
		}
		var left []string
		for i, externalID := range externalIDs {
			own := ids[i*window : (i+1)*window]
			found := slices.IndexFunc(own, func(id uuid.UUID) bool { _, taken := used[id]; return !taken })
			if found < 0 {
				left = append(left, externalID)
				continue
			}
			free[externalID] = own[found]
		}
		externalIDs, from = left, from+window
	}
	return free, nil
}

// passages reads the passages of a document. A document has at most as many as are read, unless
// clients have marked other nodes.
func (a *api) passages(ctx context.Context, workspace uuid.UUID, node *graph.Node) ([]graph.Node, error) {
	mark := document.MarkOf(node)
	nodes, err := a.Graph.PassageNodes(ctx, workspace, node.ID, mark.ExternalID, graph.MaxBatch+1)
	return slices.DeleteFunc(nodes, func(n graph.Node) bool {
		m := document.MarkOf(&n)
		return m == nil || m.Passage == nil
	}), err
}
