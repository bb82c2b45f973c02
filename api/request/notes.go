package request

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Notes is what a handler tells those around it of what it did. It is one request's and not
// safe for concurrent use.
type Notes struct {
	// Command is the command that was applied; zero: none.
	Command uuid.UUID
	Results []string // ids of what was made
	Fields  []string // names of the fields that the body set
}

// maxNotes bounds the ids and the names that are noted of a request, each.
const maxNotes = 100

// Made notes the id of something that was made.
func (n *Notes) Made(id string) {
	if len(n.Results) < maxNotes {
		n.Results = append(n.Results, id)
	}
}

// set notes the names of a JSON object, which was read before.
func (n *Notes) set(body []byte) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' && len(n.Fields) < maxNotes {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		n.Fields = append(n.Fields, name.String())
		if dec.SkipValue() != nil {
			return
		}
	}
}

type notesKey struct{}

// WithNotes puts empty notes into the context.
func WithNotes(ctx context.Context) context.Context {
	return context.WithValue(ctx, notesKey{}, &Notes{})
}

// NotesOf returns the context's notes; where it has none, some that nobody reads.
func NotesOf(ctx context.Context) *Notes {
	if n := notesOf(ctx); n != nil {
		return n
	}
	return &Notes{}
}

// notesOf returns the context's notes, nil where it has none.
func notesOf(ctx context.Context) *Notes {
	n, _ := ctx.Value(notesKey{}).(*Notes)
	return n
}
