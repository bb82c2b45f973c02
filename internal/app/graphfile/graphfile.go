// Package graphfile implements the file format for the export and import of a workspace's
// graph: one JSON object per line (NDJSON), first a header, then the nodes, then the edges:
//
//	{"graph":{"format":1,"workspaceId":"…","exportedAt":"…","sequence":42,"nodes":2,"edges":1}}
//	{"node":{"id":"…","name":"Pump 7","entityType":"object","description":null,"properties":{}, …}}
//	{"edge":{"id":"…","sourceId":"…","targetId":"…","relationType":"feeds","properties":{}, …}}
//
// Nodes and edges have the same JSON as in the API. An imported file may have no header.
// An import ignores times and versions, because it creates new nodes and edges. An edge
// must follow its two nodes.
//
// [Check] reads a file without a server and reports the invalid lines. [Import] sends the
// file as commands, in batches. A file that was imported in part can be imported again: the
// nodes and edges that exist already are not changed.
package graphfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// Format is the version of the file's format.
	Format = 1
	// maxLineBytes is the maximum size of a line: the largest node with all characters escaped.
	maxLineBytes = 1 << 20
	// maxBadLines is how many bad lines are listed; further ones are only counted.
	maxBadLines = 100
)

// Header is the first line of the file.
type Header struct {
	Format      int    `json:"format"`
	WorkspaceID string `json:"workspaceId"`
	ExportedAt  string `json:"exportedAt"`
	Sequence    int64  `json:"sequence"` // of the newest change in the file
	Nodes       int64  `json:"nodes"`
	Edges       int64  `json:"edges"`
}

// line is a line of the file. One member is set.
type line struct {
	Graph *Header   `json:"graph"`
	Node  *nodeLine `json:"node"`
	Edge  *edgeLine `json:"edge"`
}

// stamped contains the members that an import ignores.
type stamped struct {
	CreatedAt jsontext.Value `json:"createdAt"`
	UpdatedAt jsontext.Value `json:"updatedAt"`
	Version   jsontext.Value `json:"version"`
}

type nodeLine struct {
	stamped     `json:",inline"`
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	EntityType  string         `json:"entityType"`
	Description *string        `json:"description"`
	Properties  jsontext.Value `json:"properties"`
}

type edgeLine struct {
	stamped      `json:",inline"`
	ID           string         `json:"id"`
	SourceID     string         `json:"sourceId"`
	TargetID     string         `json:"targetId"`
	RelationType string         `json:"relationType"`
	Properties   jsontext.Value `json:"properties"`
}

// BadLine is a line that is invalid or that the server refused, with the reason.
type BadLine struct {
	Line   int    `json:"line"` // from 1
	Reason string `json:"reason"`
}

func (b BadLine) String() string { return fmt.Sprintf("line %d: %s", b.Line, b.Reason) }

// record is a valid line.
type record struct {
	line int
	size int // bytes
	// One of these is set.
	header *Header
	node   *client.NewNode
	edge   *client.NewEdge
}

func (r *record) command() client.Command {
	if r.node != nil {
		return client.Command{Type: client.CreateNode, Payload: r.node}
	}
	return client.Command{Type: client.CreateEdge, Payload: r.edge}
}

// reader reads a file line by line.
type reader struct {
	lines *bufio.Reader
	line  int // the line that was read last
}

func newReader(r io.Reader) *reader { return &reader{lines: bufio.NewReaderSize(r, maxLineBytes)} }

// next returns the next line that is not blank, as a record or as a bad line. The error is
// that of the reader, io.EOF at the end.
func (r *reader) next() (record, *BadLine, error) {
	for {
		text, err := r.lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			r.line++
			bad := &BadLine{r.line, fmt.Sprintf("is longer than %d bytes", maxLineBytes)}
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.lines.ReadSlice('\n')
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return record{}, nil, err
			}
			return record{}, bad, nil
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
			return record{}, nil, err
		}
		r.line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		parsed, err := parse(text)
		if err != nil {
			return record{}, &BadLine{r.line, reason(err)}, nil
		}
		parsed.line, parsed.size = r.line, len(text)
		return parsed, nil, nil
	}
}

func parse(text []byte) (record, error) {
	var l line
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return record{}, err
	}
	switch {
	case l.Graph != nil && l.Node == nil && l.Edge == nil:
		if l.Graph.Format != Format {
			return record{}, fmt.Errorf("graph.format is %d; this version reads %d", l.Graph.Format, Format)
		}
		return record{header: l.Graph}, nil
	case l.Node != nil && l.Graph == nil && l.Edge == nil:
		return l.Node.record()
	case l.Edge != nil && l.Graph == nil && l.Node == nil:
		return l.Edge.record()
	}
	return record{}, errors.New(`must have one member: "node" or "edge"`)
}

func (l *nodeLine) record() (record, error) {
	n := &client.NewNode{Name: l.Name, EntityType: l.EntityType, Description: l.Description}
	err := errors.Join(parseID("node.id", l.ID, &n.ID), parseProperties("node", l.Properties, &n.Properties))
	if err != nil {
		return record{}, err
	}
	return record{node: n}, valid("node", graph.CreateNode{
		ID: n.ID, Name: n.Name, EntityType: graph.EntityType(n.EntityType), Description: n.Description,
		Properties: l.Properties,
	})
}

func (l *edgeLine) record() (record, error) {
	e := &client.NewEdge{RelationType: l.RelationType}
	err := errors.Join(parseID("edge.id", l.ID, &e.ID), parseID("edge.sourceId", l.SourceID, &e.SourceID),
		parseID("edge.targetId", l.TargetID, &e.TargetID), parseProperties("edge", l.Properties, &e.Properties))
	if err != nil {
		return record{}, err
	}
	return record{edge: e}, valid("edge", graph.CreateEdge{
		ID: e.ID, SourceID: e.SourceID, TargetID: e.TargetID, RelationType: e.RelationType, Properties: l.Properties,
	})
}

func parseID(field, text string, into *uuid.UUID) error {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) { // the API accepts no other forms of a UUID
		return fmt.Errorf("%s must be a UUID", field)
	}
	*into = id
	return nil
}

func parseProperties(member string, raw jsontext.Value, into *client.Properties) error {
	if raw != nil && raw.Kind() != '{' {
		return fmt.Errorf("%s.properties must be an object", member)
	}
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// valid validates a resource by the rules of the server.
func valid(member string, payload graph.Payload) error {
	err := graph.Action{Payload: payload}.Validate()
	var fe *fault.Error
	if errors.As(err, &fe) {
		return errors.New(strings.Replace(fe.Message, "payload.", member+".", 1))
	}
	return err
}

// reason formats an error as one line without control characters, which names in the file
// may contain.
func reason(err error) string {
	return printable(strings.ReplaceAll(message(err), "\n", "; "))
}

func message(err error) string {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("is no JSON: %s: %v", memberName(string(syntax.JSONPointer)), syntax.Err)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		if semantic.Err != nil {
			return fmt.Sprintf("%s: %v", memberName(string(semantic.JSONPointer)), semantic.Err)
		}
		return fmt.Sprintf("%s: is of the wrong JSON type", memberName(string(semantic.JSONPointer)))
	}
	return err.Error()
}

func memberName(pointer string) string {
	if pointer == "" {
		return "the line"
	}
	return printable(strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."))
}

// printable escapes characters that cannot be printed, in the syntax of Go strings.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// CheckResult is the result of a check.
type CheckResult struct {
	Nodes, Edges int64
	Lines        int
	Header       *Header   // nil: there is none
	Bad          []BadLine // the first bad lines
	BadCount     int
}

// Check reads a file to its end, without a server. The error is that of the reader.
func Check(r io.Reader) (found CheckResult, err error) {
	in := newReader(r)
	add := func(bad BadLine) {
		if found.BadCount++; found.BadCount <= maxBadLines {
			found.Bad = append(found.Bad, bad)
		}
	}
	for {
		rec, bad, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			found.Lines = in.line
			found.checkComplete(add, in.line)
			return found, nil
		case err != nil:
			return found, fmt.Errorf("reading line %d: %w", in.line+1, err)
		case bad != nil:
			add(*bad)
		case rec.header != nil && (found.Header != nil || found.Nodes+found.Edges > 0):
			add(BadLine{rec.line, "the header is the first line, and there is one"})
		case rec.header != nil:
			found.Header = rec.header
		case rec.node != nil:
			found.Nodes++
		default:
			found.Edges++
		}
	}
}

// checkComplete reports a file that was cut off as a bad line.
func (f *CheckResult) checkComplete(add func(BadLine), last int) {
	if h := f.Header; h != nil && f.BadCount == 0 && (h.Nodes != f.Nodes || h.Edges != f.Edges) {
		add(
			BadLine{
				last,
				fmt.Sprintf("the file ends with %d nodes and %d edges, its header announces %d and %d: it is not whole",
					f.Nodes, f.Edges, h.Nodes, h.Edges),
			},
		)
	}
}
