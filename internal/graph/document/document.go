// Package document defines how documents are stored in the graph, and which commands bring a
// document to a new version.
//
// A document is a node, with its title as the name. A short text is the node's description. A
// longer one is split into passages: each is a node with a part of the text as the description,
// and an edge of type [Contains] leads to it from the node of the document. The property [Key]
// marks both kinds of nodes. So documents are written by ordinary commands only, and have a
// history, events and undo like everything else in the graph.
package document

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

const (
	// Key is the name of the property that marks the nodes of documents. Its value is a [Mark].
	Key = "document"
	// Contains is the relation type of the edge from a document to a passage.
	Contains = "contains"
	// EntityType is the entity type of documents and passages.
	EntityType = graph.Object
)

// Limits of documents.
const (
	MaxExternalID = 512 // characters
	MaxSourceURL  = 2048
	MaxTags       = 64
	MaxTag        = 128     // characters
	MaxTagBytes   = 8 << 10 // of all tags: properties are limited, too
	// MaxPassages is the maximum number of passages. The commands of any change of a document fit
	// into one batch.
	MaxPassages = (graph.MaxBatch - 1) / 3
)

// Mark is the value of the property of a document or a passage.
type Mark struct {
	ID         uuid.UUID `json:"id"` // of the document's node
	ExternalID string    `json:"externalId"`
	Title      string    `json:"title"`

	// Fields of the document's node.
	Hash        string     `json:"hash,omitzero"`     // identifies the content
	Revision    int64      `json:"revision,omitzero"` // from 1
	ContentType string     `json:"contentType,omitzero"`
	SourceURL   string     `json:"sourceUrl,omitzero"`
	Tags        []string   `json:"tags,omitzero"`
	Timestamp   *time.Time `json:"timestamp,omitzero"`
	Passages    int        `json:"passages,omitzero"` // 0: the text is the node's description

	Passage *Position `json:"passage,omitzero"` // of a passage; nil: the node is the document
}

// Position is the position of a passage in the text of its document.
type Position struct {
	Index   int    `json:"index"` // from 0
	From    int    `json:"from"`  // in bytes of the extracted text
	To      int    `json:"to"`
	Heading string `json:"heading,omitzero"` // of the section in which the passage begins
	Page    int    `json:"page,omitzero"`    // on which the passage begins, from 1; 0: the content has no pages
}

// MarkOf returns the mark of a node, nil if the node belongs to no document. Properties are free-form,
// so a value that is not a mark is no error.
func MarkOf(n *graph.Node) *Mark {
	m := parseMark(n.Properties[Key])
	if m == nil || m.Passage == nil && m.ID != n.ID {
		return nil
	}
	return m
}

// OwnMark returns the mark of a document's own node, nil if the node is none.
func OwnMark(n *graph.Node) *Mark {
	if m := MarkOf(n); m != nil && m.Passage == nil {
		return m
	}
	return nil
}

// parseMark returns nil if the value is not a mark.
func parseMark(value jsontext.Value) *Mark {
	var m Mark
	if value == nil || value.Kind() != '{' || json.Unmarshal(value, &m) != nil || m.ID == uuid.Nil || m.ExternalID == "" {
		return nil
	}
	return &m
}

// IsMark reports whether a property of a node is a mark. Marks are not searched as texts.
func IsMark(key string, value jsontext.Value) bool { return key == Key && parseMark(value) != nil }

// Source is a document as a client sent it, with its text split.
type Source struct {
	ExternalID  string
	Title       string
	ContentType string
	SourceURL   string
	Tags        []string
	Timestamp   *time.Time
	Hash        string
	// Passages has the parts of the text. If there is only one, it becomes the description of the
	// document's node. Empty: the document has only a title.
	Passages []Passage
}

// Passage is a part of a text.
type Passage struct {
	Text string
	Position
}

// names of the ids, each a namespace below the workspace or the document.
const (
	documentSpace = "document\x00"
	passageSpace  = "passage\x00"
	edgeSpace     = "contains\x00"
)

// ID returns the id of the node of a document. generation is 0, or higher if the ids of lower
// generations belonged to documents that were deleted: a deleted id cannot be used again.
func ID(workspace uuid.UUID, externalID string, generation int) uuid.UUID {
	name := append([]byte(documentSpace), externalID...)
	if generation > 0 {
		name = append(append(name, 0), strconv.Itoa(generation)...)
	}
	return uuid.NewSHA1(workspace, name)
}

// passageID returns the id of a passage that is created when the document's node gets a version.
// Versions are never used twice, not even after an undo.
func passageID(document uuid.UUID, version int64, index int) uuid.UUID {
	return uuid.NewSHA1(document, []byte(passageSpace+strconv.FormatInt(version, 10)+"/"+strconv.Itoa(index)))
}

func edgeID(passage uuid.UUID) uuid.UUID { return uuid.NewSHA1(passage, []byte(edgeSpace)) }
