package documents

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"mime"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/extract"
	"github.com/livegraph/livegraph/internal/retrieval/files"
)

const (
	maxBody      = 24 << 20 // bytes, decoded
	maxDocuments = 1000
	maxContent   = 4 << 20  // bytes of the text of a document
	maxData      = 16 << 20 // bytes of the file of a document
)

// putBody is the JSON form of the request. Its documents are decoded one by one, so that no more of
// them are in memory than a request may have.
type putBody struct {
	Documents jsontext.Value `json:"documents"`
}

// documentBody is the JSON form of a document.
type documentBody struct {
	ExternalID  *string  `json:"externalId"`
	Title       *string  `json:"title"`
	Text        *string  `json:"text"`
	Data        *string  `json:"data"` // of a file, base64
	ContentType *string  `json:"contentType"`
	SourceURL   *string  `json:"sourceUrl"`
	Tags        []string `json:"tags"`
	Timestamp   *string  `json:"timestamp"`
}

// content is a document as a client sent it, validated. Its text is not extracted yet.
type content struct {
	document.Source
	text  string
	data  []byte        // of the file; nil: the content is text
	read  *extract.Text // of the file; nil: it is not read yet
	index int           // in the request
}

// readDocuments parses the body of POST /api/documents.
func readDocuments(body []byte) ([]*content, error) {
	var b putBody
	if err := request.DecodeJSON(body, &b); err != nil {
		return nil, err
	}
	if b.Documents == nil {
		return nil, fault.Field(fault.Malformed, "documents", "is required")
	}
	if b.Documents.Kind() != '[' {
		return nil, fault.Field(fault.Malformed, "documents", "must be an array")
	}
	var c request.Check
	var list []*content
	seen := map[string]struct{}{}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(b.Documents))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, fmt.Errorf("reading the documents: %w", err)
	}
	for decoder.PeekKind() != ']' {
		if len(list) == maxDocuments {
			return nil, tooMany()
		}
		field := fmt.Sprintf("documents[%d]", len(list))
		raw, err := decoder.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", field, err)
		}
		d, err := readDocument(&c, field, raw)
		if err != nil {
			return nil, err
		}
		if _, repeated := seen[d.ExternalID]; repeated {
			c.Fail(field+".externalId", "is the same as that of another document of the request")
		}
		seen[d.ExternalID] = struct{}{}
		d.index = len(list)
		list = append(list, d)
	}
	if len(list) == 0 {
		return nil, tooMany()
	}
	return list, c.Err()
}

func tooMany() error {
	return fault.Field(fault.Invalid, "documents", fmt.Sprintf("must have 1 to %d documents", maxDocuments))
}

// readDocument parses one document. Values that break a rule are recorded in the check.
func readDocument(c *request.Check, field string, raw jsontext.Value) (*content, error) {
	if raw.Kind() != '{' {
		return nil, fault.Field(fault.Malformed, field, "must be an object")
	}
	var b documentBody
	if err := request.DecodePart(raw, field, &b); err != nil {
		return nil, err
	}
	c.Required(field+".externalId", b.ExternalID != nil)
	c.Required(field+".text", b.Text != nil || b.Data != nil)
	d := &content{Source: document.Source{ContentType: extract.Plain}}
	if b.ExternalID != nil {
		d.ExternalID = *b.ExternalID
		c.Text(field+".externalId", d.ExternalID, 1, document.MaxExternalID)
	}
	if b.Title != nil {
		d.Title = *b.Title
		c.Text(field+".title", d.Title, 1, graph.MaxName)
	}
	if b.Text != nil {
		if d.text = *b.Text; len(d.text) > maxContent {
			c.Fail(field+".text", fmt.Sprintf("must be at most %d bytes long", maxContent))
		}
	}
	if b.Data != nil {
		readData(c, field, &b, d)
	} else if b.ContentType != nil {
		media, err := extract.MediaType(*b.ContentType)
		if err != nil {
			c.Fail(field+".contentType", unsupported, extract.Types()...)
		}
		d.ContentType = media
	}
	readSource(c, field, &b, d)
	d.Hash = d.hash()
	return d, nil
}

const unsupported = "is not a type of text; text in JSON is UTF-8, so a charset can only be utf-8; " +
	"files are sent as data"

// readData decodes the file of a document, and checks it and its type.
func readData(c *request.Check, field string, b *documentBody, d *content) {
	if b.Text != nil {
		c.Fail(field+".data", "cannot be combined with text")
	}
	data, err := base64.StdEncoding.DecodeString(*b.Data)
	if err != nil {
		c.Fail(field+".data", "must be base64 with padding (RFC 4648, section 4)")
	}
	if d.data = data; len(d.data) == 0 || len(d.data) > maxData {
		c.Fail(field+".data", fmt.Sprintf("must have 1 to %d bytes before base64", maxData))
	}
	c.Required(field+".contentType", b.ContentType != nil)
	if b.ContentType == nil {
		return
	}
	media, _, err := mime.ParseMediaType(*b.ContentType)
	if err != nil || !files.IsType(media) {
		c.Fail(field+".contentType", "is not a type of file that is read", files.Types()...)
	}
	d.ContentType = media
}

// readSource reads where a document is from.
func readSource(c *request.Check, field string, b *documentBody, d *content) {
	if b.SourceURL != nil {
		d.SourceURL = *b.SourceURL
		c.Text(field+".sourceUrl", d.SourceURL, 1, document.MaxSourceURL)
		if u, err := url.Parse(d.SourceURL); err != nil || u.Scheme == "" || isScript(u.Scheme) {
			c.Fail(field+".sourceUrl", "must be an absolute URL")
		}
	}
	if len(b.Tags) > document.MaxTags {
		c.Fail(field+".tags", fmt.Sprintf("must be at most %d", document.MaxTags))
	}
	size := 0
	for i, tag := range b.Tags[:min(len(b.Tags), document.MaxTags)] {
		c.Text(fmt.Sprintf("%s.tags[%d]", field, i), tag, 1, document.MaxTag)
		size += len(tag)
	}
	if size > document.MaxTagBytes {
		c.Fail(field+".tags", fmt.Sprintf("must be at most %d bytes long together", document.MaxTagBytes))
	}
	d.Tags = b.Tags
	if b.Timestamp != nil {
		t, ok := request.ParseTime(*b.Timestamp)
		if !ok {
			c.Fail(field+".timestamp", "must be an RFC 3339 time, such as 2026-11-21T07:40:08Z")
		}
		t = t.UTC().Truncate(time.Microsecond)
		d.Timestamp = &t
	}
}

// isScript reports whether a link with a scheme would run a script in a browser.
func isScript(scheme string) bool {
	return scheme == "javascript" || scheme == "data" || scheme == "vbscript"
}

// extraction is the version of how texts are extracted and split. It is part of the hash, so that a
// document is written again when a new version splits it in another way.
const extraction = "1"

// hash returns a hash of everything that a client sent, each part with its length.
func (d *content) hash() string {
	h := sha256.New()
	length := func(n int) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(n))
		h.Write(size[:])
	}
	add := func(part string) {
		length(len(part))
		h.Write([]byte(part))
	}
	for _, part := range []string{extraction, d.Title, d.ContentType, d.SourceURL, d.text} {
		add(part)
	}
	if d.Timestamp != nil {
		add(d.Timestamp.Format(time.RFC3339Nano))
	}
	for _, tag := range d.Tags {
		add("tag " + tag)
	}
	if d.data != nil {
		length(len(d.data))
		h.Write(d.data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// split extracts the text, unless it was read from a file, splits it into passages, and sets the title if
// the client sent none.
func (d *content) split() error {
	var text extract.Text
	if d.read != nil {
		text = *d.read
	} else {
		text = extract.Extract(d.ContentType, d.text)
	}
	if len(text.Body) > extract.MaxText {
		return fault.Field(fault.Invalid, fmt.Sprintf("documents[%d].text", d.index),
			fmt.Sprintf("has %d bytes of text, at most %d are allowed; split the document", len(text.Body), extract.MaxText))
	}
	if d.Title == "" {
		d.Title = text.Title
	}
	if d.Title == "" {
		d.Title = d.ExternalID
	}
	breaks := make([]int, len(text.Headings))
	for i, h := range text.Headings {
		breaks[i] = h.At
	}
	next, heading, page := 0, "", 0
	for i, p := range chunk.Passages(text.Body, breaks) {
		for page < len(text.Pages) && text.Pages[page] <= p.From {
			page++
		}
		for next < len(text.Headings) && text.Headings[next].At <= p.From {
			heading = text.Headings[next].Text
			next++
		}
		d.Passages = append(d.Passages, document.Passage{
			Text: p.Text, Position: document.Position{Index: i, From: p.From, To: p.To, Heading: heading, Page: page},
		})
	}
	return nil
}
