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
	// batchBytes bounds the bytes of the file in one request. The server accepts 8 MiB, and
	// the JSON of a command may be longer than its line.
	batchBytes = 4 << 20
	// maxIDsPerRequest is the maximum number of ids in one request.
	maxIDsPerRequest = 100
)

// server is the part of the client that an import uses.
type server interface {
	EachNode(ctx context.Context, f client.Filter, visit func(client.Node) error) error
	EachEdge(ctx context.Context, f client.Filter, visit func(client.Edge) error) error
	Batch(ctx context.Context, commands []client.Command, atomic bool) (client.BatchAnswer, error)
}

// Options are the options of an import.
type Options struct {
	FromLine int                 // earlier lines are skipped; 0: none
	Progress func(*ImportResult) // called after each batch; may be nil
}

// ImportResult is the result of an import, or its progress.
type ImportResult struct {
	Line      int   // number of the last line that was processed
	Created   int64 // nodes and edges
	Existing  int64 // nodes and edges that existed already with the same content
	Different int64 // nodes and edges that existed already with other content; they are not changed
	Refused   []BadLine
	// RefusedCount counts all refused lines; Refused lists the first of them.
	RefusedCount int
}

func (i *ImportResult) refuse(line int, text string) {
	if i.RefusedCount++; i.RefusedCount <= maxBadLines {
		i.Refused = append(i.Refused, BadLine{line, text})
	}
}

// Import creates a file's nodes and edges, with their ids. It records lines that are
// invalid or that the server refuses, and continues. If it returns an error, Line is the
// last line that was processed; what was created before remains.
func Import(ctx context.Context, api *client.Client, r io.Reader, o Options) (ImportResult, error) {
	return importFile(ctx, api, r, o)
}

func importFile(ctx context.Context, api server, r io.Reader, o Options) (ImportResult, error) {
	i := &importer{server: api, progress: o.Progress}
	in := newReader(r)
	for {
		rec, bad, err := in.next()
		if errors.Is(err, io.EOF) {
			return i.done, i.send(ctx, in.line)
		}
		if err != nil {
			return i.done, fmt.Errorf("reading line %d: %w", in.line+1, err)
		}
		if in.line < o.FromLine || rec.header != nil {
			continue
		}
		if bad != nil {
			i.done.refuse(bad.Line, bad.Reason)
			continue
		}
		if len(i.batch) == client.MaxBatch || i.bytes+rec.size > batchBytes {
			if err := i.send(ctx, rec.line-1); err != nil {
				return i.done, err
			}
		}
		i.batch, i.bytes = append(i.batch, rec), i.bytes+rec.size
	}
}

// importer is a running import.
type importer struct {
	server   server
	progress func(*ImportResult)
	batch    []record
	bytes    int
	done     ImportResult
}

// send imports the batch. upTo is the last line of the file that is processed afterwards.
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

// create creates the nodes and edges of the batch in one change. If that is refused, it
// creates those that do not exist, each in its own change.
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
			i.done.refuse(missing[n].line, refusalReason(result.Err))
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

// refused reports whether a command was refused because of the state of the graph or its
// own content.
func refused(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Invalid)
}

// refusalReason returns the reason why the server refused a line.
func refusalReason(err error) string {
	var fe *fault.Error
	if !errors.As(err, &fe) {
		return err.Error()
	}
	if fe.Kind == fault.Conflict && fe.Details["reason"] == "already_exists" {
		return "its id is used already: by something that was deleted, or by an earlier line"
	}
	return fe.Message
}

// missing returns the records of the batch that do not exist, and counts the others.
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
	err := eachChunk(nodeIDs, func(ids []uuid.UUID) error {
		return i.server.EachNode(ctx, client.Filter{IDs: ids}, func(n client.Node) error { nodes[n.ID] = n; return nil })
	})
	if err != nil {
		return nil, err
	}
	err = eachChunk(edgeIDs, func(ids []uuid.UUID) error {
		return i.server.EachEdge(ctx, client.Filter{IDs: ids}, func(e client.Edge) error { edges[e.ID] = e; return nil })
	})
	if err != nil {
		return nil, err
	}
	var missing []record
	for _, r := range i.batch {
		var exists, same bool
		if r.node != nil {
			var n client.Node
			n, exists = nodes[r.node.ID]
			same = sameNode(r.node, &n)
		} else {
			var e client.Edge
			e, exists = edges[r.edge.ID]
			same = sameEdge(r.edge, &e)
		}
		switch {
		case !exists:
			missing = append(missing, r)
		case same:
			i.done.Existing++
		default:
			i.done.Different++
		}
	}
	return missing, nil
}

func eachChunk(ids []uuid.UUID, ask func([]uuid.UUID) error) error {
	for len(ids) > 0 {
		n := min(len(ids), maxIDsPerRequest)
		if err := ask(ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

func sameNode(imported *client.NewNode, existing *client.Node) bool {
	described := func(text *string) string {
		if text == nil {
			return ""
		}
		return *text
	}
	return imported.Name == existing.Name && imported.EntityType == existing.EntityType &&
		described(imported.Description) == described(existing.Description) &&
		sameProperties(imported.Properties, existing.Properties)
}

func sameEdge(imported *client.NewEdge, existing *client.Edge) bool {
	return imported.SourceID == existing.SourceID && imported.TargetID == existing.TargetID &&
		imported.RelationType == existing.RelationType && sameProperties(imported.Properties, existing.Properties)
}

// sameProperties reports whether the properties have the same JSON values, in whatever
// notation. A null in a counts as absent.
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

// canonical returns the value in the form of RFC 8785, or unchanged if it has none.
func canonical(value jsontext.Value) string {
	value = value.Clone()
	_ = value.Canonicalize()
	return string(value)
}
