package graphfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// batchBytes is how much of a file goes into one request: the server takes
	// 8 MiB, and what is written there may be longer than here.
	batchBytes = 4 << 20
	// mostAsked is how many ids the server is asked for at once.
	mostAsked = 100
)

// server is the part of the interface that an import uses.
type server interface {
	EachNode(ctx context.Context, f client.Filter, visit func(client.Node) error) error
	EachEdge(ctx context.Context, f client.Filter, visit func(client.Edge) error) error
	Batch(ctx context.Context, commands []client.Command, atomic bool) (client.BatchAnswer, error)
}

// Options are wishes for an import.
type Options struct {
	FromLine int             // earlier lines are passed over; 0: none
	Progress func(*Imported) // told after each batch; may be nil
}

// Imported is what came of an import so far.
type Imported struct {
	Line      int   // up to which the file is done with
	Created   int64 // nodes and edges
	There     int64 // that stood already, the same
	Different int64 // that stood already with another content, and were left as they are
	Refused   []BadLine
	// RefusedCount counts all that were refused; Refused names the first of them.
	RefusedCount int
}

func (i *Imported) refuse(line int, why string) {
	if i.RefusedCount++; i.RefusedCount <= mostNamed {
		i.Refused = append(i.Refused, BadLine{line, why})
	}
}

// Import makes a file's nodes and edges, with their ids. A line that is no good or
// that the server refuses is noted, and the others go on. The error says why it
// could not go on: what was done is done, and Line reports how far it came.
func Import(ctx context.Context, to *client.Client, r io.Reader, o Options) (Imported, error) {
	return importFile(ctx, to, r, o)
}

func importFile(ctx context.Context, to server, r io.Reader, o Options) (Imported, error) {
	i := &importer{server: to, progress: o.Progress}
	in := newReader(r)
	for {
		rec, bad, err := in.next()
		if errors.Is(err, io.EOF) {
			return i.done, i.send(ctx, in.at)
		}
		if err != nil {
			return i.done, fmt.Errorf("reading line %d: %w", in.at+1, err)
		}
		if in.at < o.FromLine || rec.header != nil {
			continue
		}
		if bad != nil {
			i.done.refuse(bad.Line, bad.Reason)
			continue
		}
		if len(i.batch) == client.LargestBatch || i.bytes+rec.size > batchBytes {
			if err := i.send(ctx, rec.line-1); err != nil {
				return i.done, err
			}
		}
		i.batch, i.bytes = append(i.batch, rec), i.bytes+rec.size
	}
}

// importer is an import under way.
type importer struct {
	server   server
	progress func(*Imported)
	batch    []record
	bytes    int
	done     Imported
}

// send imports the batch, after which the file is done with up to a line.
func (i *importer) send(ctx context.Context, upTo int) error {
	if len(i.batch) > 0 {
		if err := i.create(ctx); err != nil {
			return fmt.Errorf("importing lines %d to %d: %w", i.batch[0].line, i.batch[len(i.batch)-1].line, err)
		}
	}
	i.batch, i.bytes, i.done.Line = i.batch[:0], 0, upTo
	slices.SortStableFunc(i.done.Refused, func(a, b BadLine) int { return cmp.Compare(a.Line, b.Line) })
	if i.progress != nil {
		i.progress(&i.done)
	}
	return nil
}

// create makes what the batch holds: all in one change, and where that is refused,
// what does not stand yet, each by itself.
func (i *importer) create(ctx context.Context) error {
	_, err := i.server.Batch(ctx, commandsOf(i.batch), true)
	if err == nil {
		i.done.Created += int64(len(i.batch))
		return nil
	}
	if !refused(err) {
		return err
	}
	missing, err := i.missing(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	answer, err := i.server.Batch(ctx, commandsOf(missing), false)
	if err != nil {
		return err
	}
	for n, result := range answer.Results {
		if result.Err == nil {
			i.done.Created++
		} else {
			i.done.refuse(missing[n].line, refusal(result.Err))
		}
	}
	return nil
}

func commandsOf(batch []record) []client.Command {
	commands := make([]client.Command, len(batch))
	for i := range batch {
		commands[i] = batch[i].command()
	}
	return commands
}

// refused reports that a command was refused for what stands in the graph.
func refused(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Invalid)
}

// refusal reports why the server did not take a line.
func refusal(err error) string {
	var fe *fault.Error
	if !errors.As(err, &fe) {
		return err.Error()
	}
	if fe.Kind == fault.Conflict && fe.Details["reason"] == "already_exists" {
		return "its id is used already: by something that was deleted, or by an earlier line"
	}
	return fe.Message
}

// missing returns what of the batch does not stand, and counts the rest.
func (i *importer) missing(ctx context.Context) ([]record, error) {
	nodes, edges := map[uuid.UUID]client.Node{}, map[uuid.UUID]client.Edge{}
	var nodeIDs, edgeIDs []uuid.UUID
	for n := range i.batch {
		if r := &i.batch[n]; r.node != nil {
			nodeIDs = append(nodeIDs, r.node.ID)
		} else {
			edgeIDs = append(edgeIDs, r.edge.ID)
		}
	}
	err := inParts(nodeIDs, func(ids []uuid.UUID) error {
		return i.server.EachNode(ctx, client.Filter{IDs: ids}, func(n client.Node) error { nodes[n.ID] = n; return nil })
	})
	if err != nil {
		return nil, err
	}
	err = inParts(edgeIDs, func(ids []uuid.UUID) error {
		return i.server.EachEdge(ctx, client.Filter{IDs: ids}, func(e client.Edge) error { edges[e.ID] = e; return nil })
	})
	if err != nil {
		return nil, err
	}
	var missing []record
	for _, r := range i.batch {
		var stands, same bool
		if r.node != nil {
			var n client.Node
			n, stands = nodes[r.node.ID]
			same = sameNode(r.node, &n)
		} else {
			var e client.Edge
			e, stands = edges[r.edge.ID]
			same = sameEdge(r.edge, &e)
		}
		switch {
		case !stands:
			missing = append(missing, r)
		case same:
			i.done.There++
		default:
			i.done.Different++
		}
	}
	return missing, nil
}

func inParts(ids []uuid.UUID, ask func([]uuid.UUID) error) error {
	for len(ids) > 0 {
		n := min(len(ids), mostAsked)
		if err := ask(ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

func sameNode(wanted *client.NewNode, there *client.Node) bool {
	described := func(text *string) string {
		if text == nil {
			return ""
		}
		return *text
	}
	return wanted.Name == there.Name && wanted.EntityType == there.EntityType &&
		described(wanted.Description) == described(there.Description) && sameProperties(wanted.Properties, there.Properties)
}

func sameEdge(wanted *client.NewEdge, there *client.Edge) bool {
	return wanted.SourceID == there.SourceID && wanted.TargetID == there.TargetID &&
		wanted.RelationType == there.RelationType && sameProperties(wanted.Properties, there.Properties)
}

// sameProperties compares them however they are written; null is absent.
func sameProperties(a, b client.Properties) bool {
	count := 0
	for name, value := range a {
		if value.Kind() == 'n' {
			continue
		}
		count++
		if other, ok := b[name]; !ok || canonical(value) != canonical(other) {
			return false
		}
	}
	return count == len(b)
}

// canonical is RFC 8785's form; what cannot have it is left as it is.
func canonical(value jsontext.Value) string {
	value = value.Clone()
	_ = value.Canonicalize()
	return string(value)
}
