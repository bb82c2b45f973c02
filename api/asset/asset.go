// Package asset serves files that are part of the binary. It compresses them once, not for
// each request, and answers 304 to clients that have them.
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

// minCompressSize is the minimum size of a file that is sent compressed, in bytes.
const minCompressSize = 1024

// Encodings of compressed files, best first.
const (
	encodingZstd = "zstd"
	encodingGzip = "gzip"
)

// File is a file in all encodings. It is safe for concurrent use.
type File struct {
	content     []byte
	contentType string
	cache       string
	tag         string
	compressed  map[string]func() []byte // by encoding; each is compressed at the first request for it
}

// New returns a file with its Content-Type and Cache-Control. If compress is true, it is sent
// compressed to clients that accept it, unless it is small.
func New(content []byte, contentType, cache string, compress bool) *File {
	f := &File{content: content, contentType: contentType, cache: cache, tag: reply.ETag(content)}
	if compress && len(content) >= minCompressSize {
		f.compressed = map[string]func() []byte{
			encodingGzip: sync.OnceValue(func() []byte { return compressGzip(content) }),
			encodingZstd: sync.OnceValue(func() []byte { return compressZstd(content) }),
		}
	}
	return f
}

func compressGzip(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = w.Write(content)                                 // to memory, never fails
	_ = w.Close()
	return bytes.Clone(out.Bytes())
}

func compressZstd(content []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil { // the options are constants
		return nil
	}
	defer func() { _ = w.Close() }()
	return bytes.Clone(w.EncodeAll(content, nil))
}

// Serve answers with the file in an encoding that the client accepts, or with 304 if the
// client has it.
func (f *File) Serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cache)
	if f.compressed != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	if reply.NotModified(w, r, f.tag) {
		return
	}
	content := f.content
	if f.compressed != nil {
		if encoding := negotiateEncoding(r.Header); encoding != "" {
			content = f.compressed[encoding]()
			h.Set("Content-Encoding", encoding)
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(content) // fails only if the client has disconnected
}

// negotiateEncoding returns the encoding that the client prefers by Accept-Encoding (RFC
// 9110, 12.5.3), or "" if it accepts none.
func negotiateEncoding(h http.Header) string {
	qualities := map[string]float64{}
	for _, header := range h.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(header, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			quality := 1.0
			if value, found := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q="); found {
				quality, _ = strconv.ParseFloat(value, 64) // 0, not acceptable, if it cannot be parsed
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
