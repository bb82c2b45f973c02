// Package graphfile is the file that a workspace's graph is exported to and
// imported from: one JSON object a line (NDJSON), a header first, then the nodes,
// then the edges:
//
//	{"graph":{"format":1,"workspaceId":"…","exportedAt":"…","sequence":42,"nodes":2,"edges":1}}
//	{"node":{"id":"…","name":"Pump 7","entityType":"object","description":null,"properties":{}, …}}
//	{"edge":{"id":"…","sourceId":"…","targetId":"…","relationType":"feeds","properties":{}, …}}
//
// Nodes and edges look as they do in the interface. Of a file that is imported the
// header may be missing, and times and versions are not taken over: what is
// imported is made now. An edge comes after its ends.
//
// [Check] reads a file without a server and names each line that is no good;
// [Import] sends it as commands, in batches. A file that was imported in part is
// simply imported again: what stands already is left as it is.
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
	// longestLine holds the largest node there can be, whatever of it is escaped.
	longestLine = 1 << 20
	// mostNamed is how many bad lines are named; the rest is counted.
	mostNamed = 100
)

// Header is the first line: what the file holds.
type Header struct {
	Format      int    `json:"format"`
	WorkspaceID string `json:"workspaceId"`
	ExportedAt  string `json:"exportedAt"`
	Sequence    int64  `json:"sequence"` // of the newest change in it
	Nodes       int64  `json:"nodes"`
	Edges       int64  `json:"edges"`
}

// line is any line.
type line struct {
	Graph *Header   `json:"graph"`
	Node  *nodeLine `json:"node"`
	Edge  *edgeLine `json:"edge"`
}

// stamped is what the file says and an import does not take over.
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

// BadLine is a line that is no good, or that the server refused, and why.
type BadLine struct {
	Line   int    `json:"line"` // from 1
	Reason string `json:"reason"`
}

func (b BadLine) String() string { return fmt.Sprintf("line %d: %s", b.Line, b.Reason) }

// record is a good line.
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
	at    int // the line that was read last
}

func newReader(r io.Reader) *reader { return &reader{lines: bufio.NewReaderSize(r, longestLine)} }

// next returns the next line that is not blank: a record, or why it is none. The
// error is of the reading itself; io.EOF at the end.
func (r *reader) next() (record, *BadLine, error) {
	for {
		text, err := r.lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			r.at++
			bad := &BadLine{r.at, fmt.Sprintf("is longer than %d bytes", longestLine)}
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
		r.at++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		made, err := parse(text)
		if err != nil {
			return record{}, &BadLine{r.at, reason(err)}, nil
		}
		made.line, made.size = r.at, len(text)
		return made, nil, nil
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
	if err != nil || len(text) != len(id.String()) { // other forms of a UUID are none of the interface
		return fmt.Errorf("%s must be a UUID", field)
	}
	*into = id
	return nil
}

func parseProperties(what string, raw jsontext.Value, into *client.Properties) error {
	if raw != nil && raw.Kind() != '{' {
		return fmt.Errorf("%s.properties must be an object", what)
	}
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// valid holds a resource against the rules that the server has.
func valid(what string, payload graph.Payload) error {
	err := graph.Action{Payload: payload}.Validate()
	var fe *fault.Error
	if errors.As(err, &fe) {
		return errors.New(strings.Replace(fe.Message, "payload.", what+".", 1))
	}
	return err
}

// reason writes an error in one line, which a terminal shows as it is whatever the
// file's names have in them.
func reason(err error) string {
	return printable(strings.ReplaceAll(because(err), "\n", "; "))
}

func because(err error) string {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("is no JSON: %s: %v", orLine(string(syntax.JSONPointer)), syntax.Err)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		if semantic.Err != nil {
			return fmt.Sprintf("%s: %v", orLine(string(semantic.JSONPointer)), semantic.Err)
		}
		return fmt.Sprintf("%s: is of the wrong JSON type", orLine(string(semantic.JSONPointer)))
	}
	return err.Error()
}

func orLine(pointer string) string {
	if pointer == "" {
		return "the line"
	}
	return printable(strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."))
}

// printable writes what cannot be printed as Go does in a string.
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

// Found is what a check found in a file.
type Found struct {
	Nodes, Edges int64
	Header       *Header   // nil: there is none
	Bad          []BadLine // the first of them
	BadCount     int
}

// Check reads a file to its end, without a server. The error is of the reading.
func Check(r io.Reader) (found Found, err error) {
	in := newReader(r)
	add := func(bad BadLine) {
		if found.BadCount++; found.BadCount <= mostNamed {
			found.Bad = append(found.Bad, bad)
		}
	}
	for {
		rec, bad, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			found.complete(add, in.at)
			return found, nil
		case err != nil:
			return found, fmt.Errorf("reading line %d: %w", in.at+1, err)
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

// complete notices a file that was cut off.
func (f *Found) complete(add func(BadLine), last int) {
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
