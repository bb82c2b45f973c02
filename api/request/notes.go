package request

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Notes are what a handler reports to the middleware about a request. They are not safe for
// concurrent use.
type Notes struct {
	// Command is the command that was applied; zero: none.
	Command uuid.UUID
	Results []string // ids of created objects
	Fields  []string // names of the fields that the body set
}

// maxNotes is the maximum number of ids, and of names, in a request's notes.
const maxNotes = 100

// AddResult records the id of a created object.
func (n *Notes) AddResult(id string) {
	if len(n.Results) < maxNotes {
		n.Results = append(n.Results, id)
	}
}

// setFields records the member names of a JSON object that has been decoded already.
func (n *Notes) setFields(body []byte) {
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

// WithNotes returns a context with empty notes.
func WithNotes(ctx context.Context) context.Context {
	return context.WithValue(ctx, notesKey{}, &Notes{})
}

// NotesOf returns the context's notes, or new notes that are discarded if it has none.
func NotesOf(ctx context.Context) *Notes {
	if n := notesOf(ctx); n != nil {
		return n
	}
	return &Notes{}
}

// notesOf returns the context's notes, or nil if it has none.
func notesOf(ctx context.Context) *Notes {
	n, _ := ctx.Value(notesKey{}).(*Notes)
	return n
}
