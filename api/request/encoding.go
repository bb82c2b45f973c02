package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// encodings are the accepted encodings of request bodies.
var encodings = []string{"gzip", "zstd", "snappy"}

// maxZstdWindow limits the memory that a zstd frame can request. 8 MiB is the minimum
// that RFC 8878 recommends for decoders, and the maximum of levels up to 19.
const maxZstdWindow = 8 << 20

// errCorrupt means that a body cannot be decoded by its encoding.
var errCorrupt = errors.New("corrupt encoding")

// contentEncoding returns the encoding of the body, "" for none. It returns fallback if
// there is no header.
func contentEncoding(h http.Header, fallback string) (string, error) {
	values := h.Values("Content-Encoding")
	if len(values) == 0 {
		return fallback, nil
	}
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(values, ","))); encoding {
	case "", "identity":
		return "", nil
	case "x-gzip":
		return "gzip", nil
	case "gzip", "zstd", "snappy":
		return encoding, nil
	}
	return "", fault.Field(
		fault.UnsupportedMedia, "Content-Encoding", "is not one of the allowed encodings, or nested", encodings...,
	)
}

// decode decodes src into buffer. size is the announced size of src. decode reads at most
// limit encoded bytes, because a useful encoding is not larger than the decoded body.
func (b *bodyReader) decode(buffer *[]byte, encoding string, src io.Reader, size, limit int64) error {
	if encoding == "" {
		return b.fill(buffer, src, size, limit)
	}
	network := &networkReader{src: src, remaining: limit}
	var err error
	switch encoding {
	case "gzip":
		err = b.gunzip(buffer, network, limit)
	case "zstd":
		err = b.unzstd(buffer, network, limit)
	default:
		err = b.unsnappy(buffer, network, size, limit)
	}
	return network.wrapError(err)
}

// networkReader records errors of the connection, to distinguish a body that was
// truncated or too slow from one that is corrupt.
type networkReader struct {
	src       io.Reader
	remaining int64
	err       error
}

func (n *networkReader) Read(p []byte) (int, error) {
	count, err := n.src.Read(p)
	if n.remaining -= int64(count); n.remaining < 0 {
		err = errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return count, err
}

func (n *networkReader) wrapError(err error) error {
	switch {
	case err == nil, errors.Is(err, errTooLarge), errors.Is(err, errNoBudget):
		return err
	case n.err != nil:
		return n.err
	}
	return fmt.Errorf("%w: %w", errCorrupt, err)
}

var gzipReaders, zstdReaders sync.Pool

func (b *bodyReader) gunzip(buffer *[]byte, src io.Reader, limit int64) error {
	reader, ok := gzipReaders.Get().(*gzip.Reader)
	if !ok {
		reader = new(gzip.Reader)
	}
	defer gzipReaders.Put(reader)
	if err := reader.Reset(src); err != nil {
		return err
	}
	return b.fill(buffer, reader, 0, limit)
}

func (b *bodyReader) unzstd(buffer *[]byte, src io.Reader, limit int64) error {
	reader, ok := zstdReaders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		// Concurrency 1: decoding runs in the calling goroutine and starts no others.
		reader, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return err
		}
	}
	defer func() {
		_ = reader.Reset(nil) // drop the reference to src
		zstdReaders.Put(reader)
	}()
	if err := reader.Reset(src); err != nil {
		return err
	}
	return b.fill(buffer, reader, 0, limit)
}

// snappyStream is the prefix of the framed format. Any other body is one block, as
// sent by Prometheus, which begins with its decoded length.
var snappyStream = []byte("\xff\x06\x00\x00sNaPpY")

func (b *bodyReader) unsnappy(buffer *[]byte, src io.Reader, size, limit int64) error {
	encoded := getBuffer(0)
	defer putBuffer(encoded)
	if err := b.fill(encoded, src, size, limit); err != nil {
		return err
	}
	if bytes.HasPrefix(*encoded, snappyStream) {
		return b.fill(buffer, snappy.NewReader(bytes.NewReader(*encoded)), 0, limit)
	}
	decoded, err := snappy.DecodedLen(*encoded)
	if err != nil {
		return err
	}
	if int64(decoded) > limit {
		return errTooLarge
	}
	if err := b.reserve(int64(decoded)); err != nil {
		return err
	}
	*buffer = slices.Grow((*buffer)[:0], decoded)[:decoded]
	_, err = snappy.Decode(*buffer, *encoded)
	return err
}
