// Package files reads the text of PDF and Office files, with headings and pages.
//
// Files come from outside. PDFium reads PDF files in WebAssembly: it reaches no memory, file or
// network of this process, and its memory and time are bounded. Office files are archives of XML,
// which is read as a sequence of tokens. The size of what is unpacked, the nesting and the length of
// the text are bounded.
package files

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/retrieval/extract"
)

// Media types of files. The names of Office formats are those of their file name extensions.
const (
	PDF  = "application/pdf"
	DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	ODT  = "application/vnd.oasis.opendocument.text"
	ODP  = "application/vnd.oasis.opendocument.presentation"
	ODS  = "application/vnd.oasis.opendocument.spreadsheet"
)

// Types returns the media types that a Reader reads.
func Types() []string { return []string{PDF, DOCX, PPTX, XLSX, ODT, ODP, ODS} }

// IsType reports whether a Reader reads a media type.
func IsType(mediaType string) bool { return slices.Contains(Types(), mediaType) }

// Unreadable is the reason for which a file has no text, in words for its sender.
type Unreadable string

// Error implements error.
func (u Unreadable) Error() string { return "the file " + string(u) }

const (
	noText      Unreadable = "has no text; pages that are pictures must be recognised first (OCR)"
	tooMuchText Unreadable = "has more text than a document may have; split it"
	tooSlow     Unreadable = "takes too long to read; split it, or send fewer files in a request"
)

// Options are the options of a Reader.
type Options struct {
	// CacheDir is a directory for the compiled PDFium, which takes seconds to compile. If it is "" or
	// cannot be written, the compiled PDFium stays in memory.
	CacheDir string
	// Concurrent is the maximum number of files that are read at the same time; 0: 1.
	Concurrent int
	// IdleTimeout is how long PDFium stays in memory after its last use; 0: a minute.
	IdleTimeout time.Duration
}

// Reader reads files. It is safe for concurrent use.
type Reader struct {
	pdf   *pdfReader
	slots chan struct{}
}

// NewReader creates a reader. PDFium is loaded when the first PDF file is read.
func NewReader(o Options) *Reader {
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = time.Minute
	}
	o.Concurrent = max(o.Concurrent, 1)
	return &Reader{pdf: newPDFReader(o), slots: make(chan struct{}, o.Concurrent)}
}

// Close releases PDFium. It must not be called while files are read.
func (r *Reader) Close() error { return r.pdf.close() }

// Read returns the text of a file, at most extract.MaxText bytes. The error is an Unreadable if the
// file is to blame, also if it is not read until the deadline of ctx. If others are read until then, the
// error is that of ctx.
func (r *Reader) Read(ctx context.Context, mediaType string, data []byte) (text extract.Text, err error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return text, ctx.Err()
	}
	b := newBuilder()
	switch mediaType {
	case PDF:
		err = r.pdf.read(ctx, data, b)
	case DOCX, PPTX, XLSX, ODT, ODP, ODS:
		err = readOffice(ctx, mediaType, data, b)
	default:
		return text, fmt.Errorf("files of type %s are not read", mediaType)
	}
	if err != nil {
		return text, tooSlowOr(ctx, err)
	}
	if text = b.result(); strings.TrimSpace(text.Body) == "" {
		return text, noText
	}
	return text, nil
}

// tooSlowOr returns tooSlow if the deadline has passed, otherwise the error.
func tooSlowOr(ctx context.Context, err error) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return tooSlow
	}
	return err
}
