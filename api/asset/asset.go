// Package asset serves files that are part of the binary: compressed once, not for each
// request, and not sent again to a client that has them.
package asset

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/livegraph/livegraph/api/reply"
)

// minPacked is the least size of a file that is sent compressed.
const minPacked = 1024

// Encodings that files are kept in, the best first.
const (
	encodingZstd = "zstd"
	encodingGzip = "gzip"
)

// File is a file as it is sent. It is safe for concurrent use.
type File struct {
	content     []byte
	contentType string
	cache       string
	tag         string
	packed      map[string]func() []byte // by encoding; each is made when it is first asked for
}

// New returns a file with its Content-Type and its Cache-Control. pack reports whether its
// content is worth compressing; small files are sent as they are in any case.
func New(content []byte, contentType, cache string, pack bool) *File {
	f := &File{content: content, contentType: contentType, cache: cache, tag: reply.ETag(content)}
	if pack && len(content) >= minPacked {
		f.packed = map[string]func() []byte{
			encodingGzip: sync.OnceValue(func() []byte { return packGzip(content) }),
			encodingZstd: sync.OnceValue(func() []byte { return packZstd(content) }),
		}
	}
	return f
}

func packGzip(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is one
	_, _ = w.Write(content)                                 // to memory
	_ = w.Close()
	return bytes.Clone(out.Bytes())
}

func packZstd(content []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil { // the options are constants
		return nil
	}
	defer func() { _ = w.Close() }()
	return bytes.Clone(w.EncodeAll(content, nil))
}

// Serve answers with the file in the encoding that the client takes, or 304 when the
// client has it.
func (f *File) Serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cache)
	if f.packed != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	if reply.NotModified(w, r, f.tag) {
		return
	}
	content := f.content
	if f.packed != nil {
		if encoding := accepted(r.Header); encoding != "" {
			content = f.packed[encoding]()
			h.Set("Content-Encoding", encoding)
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(content) // the client is gone: nothing to do
}

// accepted reads Accept-Encoding (RFC 9110, 12.5.3) and returns the encoding that the
// client takes most gladly; "": none of ours.
func accepted(h http.Header) string {
	qualities := map[string]float64{}
	for _, header := range h.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(header, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			quality := 1.0
			if value, found := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q="); found {
				quality, _ = strconv.ParseFloat(value, 64) // unreadable: 0, not wanted
			}
			if name := strings.ToLower(strings.TrimSpace(coding)); name == encodingZstd || name == encodingGzip {
				qualities[name] = quality
			}
		}
	}
	switch zstd, gzip := qualities[encodingZstd], qualities[encodingGzip]; {
	case zstd > 0 && zstd >= gzip:
		return encodingZstd
	case gzip > 0:
		return encodingGzip
	}
	return ""
}
