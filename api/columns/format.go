// Package columns writes answers as columns, as streams of Apache Arrow or files of Apache Parquet, and chooses the
// format of an answer. See docs/adr/0080-columns.md.
package columns

import (
	"net/http"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
)

// Formats of an answer. All but JSON have no envelope: the URL of the next page is in the header Link.
const (
	JSON    = "json"
	CSV     = "csv"
	NDJSON  = "ndjson"
	Arrow   = "arrow"
	Parquet = "parquet"
)

var contentTypes = map[string]string{
	JSON: "application/json", CSV: "text/csv", NDJSON: "application/x-ndjson",
	Arrow: "application/vnd.apache.arrow.stream", Parquet: "application/vnd.apache.parquet",
}

// MaxItems is the maximum number of items of a page in a format of files. It is high because these formats have no
// envelope: that there are more pages is only visible in a header, which users of a file do not see.
const MaxItems = 10_000

// Format is the format of an answer.
type Format struct {
	Name       string
	negotiated bool // by the header Accept
}

// ReadFormat returns the format of an answer: the parameter format or, without it, the one that the header Accept
// prefers, JSON by default. formats are those of the route.
func ReadFormat(p *request.Params, h http.Header, formats ...string) Format {
	if name := p.OneOf("format", "", formats...); name != "" {
		return Format{Name: name}
	}
	offered := make(map[string]string, len(formats))
	for _, name := range formats {
		offered[name] = contentTypes[name]
	}
	return Format{Name: reply.Negotiate(h, JSON, offered), negotiated: true}
}

// IsColumns reports whether the answer consists of columns, not of text.
func (f Format) IsColumns() bool { return f.Name == Arrow || f.Name == Parquet }

// MaxLimit returns the maximum number of items of a page.
func (f Format) MaxLimit() int {
	if f.Name == JSON {
		return request.MaxLimit
	}
	return MaxItems
}

// Vary adds the header Vary if the format depends on the header Accept.
func (f Format) Vary(h http.Header) {
	if f.negotiated {
		h.Add("Vary", "Accept")
	}
}

// WriteHeader writes the header of an answer in a format without an envelope. next is the URL of the next page, empty
// at the end.
func (f Format) WriteHeader(w http.ResponseWriter, next string) {
	contentType := contentTypes[f.Name]
	if !f.IsColumns() {
		contentType += "; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	if next != "" {
		h.Set("Link", "<"+next+`>; rel="next"`)
	}
	w.WriteHeader(http.StatusOK)
}
