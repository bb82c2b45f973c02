package request

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/bufferpool"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	mediaJSON = "application/json"
	// readStep is the number of bytes that are reserved and read at a time. A
	// Content-Length may be wrong, so memory grows with the received bytes.
	readStep  = 64 << 10
	smallBody = 1 << 20
	// pooledBytes is the maximum size of all large buffers in their pool. They are in no
	// budget. Larger buffers are left to the garbage collector.
	pooledBytes = 32 << 20
	// pooledTime is how long an unused large buffer is kept.
	pooledTime = 30 * time.Second
)

// BodyOption is an option of Body.
type BodyOption func(*bodyReader)

// Types sets the accepted media types. The default is application/json.
func Types(mediaTypes ...string) BodyOption {
	return func(b *bodyReader) { b.types = mediaTypes }
}

// AnyType accepts any Content-Type, or none. It is for the clients of other products,
// which send various types.
func AnyType() BodyOption {
	return func(b *bodyReader) { b.anyType = true }
}

// DefaultEncoding sets the encoding of bodies without a Content-Encoding header: gzip, zstd or
// snappy.
func DefaultEncoding(encoding string) BodyOption {
	return func(b *bodyReader) { b.encoding = encoding }
}

// AllowEmpty accepts a request without a body, which some formats encode an empty message as.
func AllowEmpty() BodyOption {
	return func(b *bodyReader) { b.allowEmpty = true }
}

// NoEncoding refuses encoded bodies.
func NoEncoding() BodyOption {
	return func(b *bodyReader) { b.plain = true }
}

// WithBudget reserves the body's bytes in a budget shared with other requests. If the budget
// is used up, Body returns an Unavailable error immediately.
func WithBudget(budget *Budget) BodyOption {
	return func(b *bodyReader) { b.budget = budget }
}

// Budget limits the bytes of all bodies that are processed at the same time.
type Budget struct{ *budget.Budget }

// NewBudget creates a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{budget.New(limit)} }

// CheckCapacity returns an Unavailable error if there is no room for a body. The caller can check
// it before it counts the request.
func (b *Budget) CheckCapacity() error {
	if b == nil || b.Fits(min(readStep, b.Limit())) {
		return nil
	}
	return overloaded()
}

// Register registers the metrics of the budget. A nil registerer is allowed.
func (b *Budget) Register(registerer prometheus.Registerer) {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_http_bodies_bytes",
		Help: "Size of the decoded bodies of ingest and command requests being processed, in bytes.",
	}, func() float64 { return float64(b.Used()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_http_bodies_limit_bytes",
		Help: "Maximum size of the decoded bodies of ingest and command requests being processed at the same time, in " +
			"bytes. When it is reached, requests are answered with 503.",
	}, func() float64 { return float64(b.Limit()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_http_bodies_refused_total",
		Help: "Total number of request bodies answered with 503 because the memory limit for bodies was reached.",
	}, func() float64 { return float64(b.Refused()) })
}

type bodyReader struct {
	types      []string
	anyType    bool
	encoding   string // for bodies without a Content-Encoding
	plain      bool
	allowEmpty bool
	budget     *Budget
	share      *budget.Share // of the budget
}

// Body reads a request's body into a pooled buffer of at most limit bytes and
// decodes it by its Content-Encoding (gzip, zstd, snappy). The caller must call
// release when nothing refers to the bytes anymore. After an error there is nothing
// to release. w may be nil.
//
// Errors:
//
//   - UnsupportedMedia: the Content-Type is not accepted, the charset is not UTF-8,
//     or the encoding is unknown or nested
//   - TooLarge: the body is larger than limit
//   - Malformed: the body is truncated or corrupt
//   - Timeout: the body was not received before the server's read deadline
//   - Unavailable: the budget is used up
func Body(
	_ http.ResponseWriter, r *http.Request, limit int64, options ...BodyOption,
) (body []byte, release func(), err error) {
	reader := &bodyReader{types: []string{mediaJSON}}
	for _, option := range options {
		option(reader)
	}
	empty := r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody
	if empty && !reader.allowEmpty {
		return nil, nil, fault.Field(fault.Malformed, "body", "is empty")
	}
	if !reader.anyType {
		if err := checkContentType(r.Header, reader.types); err != nil {
			return nil, nil, err
		}
	}
	if empty {
		return []byte{}, func() {}, nil
	}
	encoding, err := contentEncoding(r.Header, reader.encoding)
	if err != nil {
		return nil, nil, err
	}
	if reader.plain && encoding != "" {
		return nil, nil, fault.Field(fault.UnsupportedMedia, "Content-Encoding", "is not taken here", "identity")
	}
	if r.ContentLength > limit {
		return nil, nil, tooLarge(limit)
	}
	buffer := getBuffer(r.ContentLength)
	releaseBody := sync.OnceFunc(func() {
		putBuffer(buffer)
		reader.share.Release()
	})
	if err := reader.decode(buffer, encoding, r.Body, r.ContentLength, limit); err != nil {
		releaseBody()
		return nil, nil, reader.bodyError(err, limit)
	}
	return *buffer, releaseBody, nil
}

var (
	errTooLarge = errors.New("body beyond its limit")
	errNoBudget = errors.New("no budget left for bodies")
)

// reserve adds n bytes to the body's share of the budget, if there is a budget.
func (b *bodyReader) reserve(n int64) error {
	if b.budget == nil {
		return nil
	}
	var ok bool
	if b.share == nil {
		b.share, ok = b.budget.TryAcquire(n)
	} else {
		ok = b.share.Grow(n)
	}
	if !ok {
		return errNoBudget
	}
	return nil
}

// fill reads src into buffer until EOF, in steps. size is the announced size of src; it is
// zero or negative if unknown.
func (b *bodyReader) fill(buffer *[]byte, src io.Reader, size, limit int64) error {
	reserved := 0
	for {
		if len(*buffer) == cap(*buffer) {
			capacity := nextCapacity(cap(*buffer), size, limit)
			if err := b.reserve(int64(capacity - reserved)); err != nil {
				return err
			}
			reserved = capacity
			*buffer = append(make([]byte, 0, capacity), *buffer...)
		}
		if len(*buffer) >= reserved {
			if err := b.reserve(readStep); err != nil {
				return err
			}
			reserved += readStep
		}
		end := min(cap(*buffer), len(*buffer)+readStep)
		n, err := src.Read((*buffer)[len(*buffer):end])
		*buffer = (*buffer)[:len(*buffer)+n]
		if int64(len(*buffer)) > limit {
			return errTooLarge
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// nextCapacity returns the next capacity of a full buffer. The capacity doubles, or
// quadruples if the announced size is at least full. It is at most the announced size or
// the limit, plus a step in which to find the end.
func nextCapacity(full int, size, limit int64) int {
	if size < int64(full) {
		return int(min(max(readStep, 2*int64(full)), limit+readStep))
	}
	return int(min(max(readStep, 4*int64(full)), size+readStep, limit+readStep))
}

func (b *bodyReader) bodyError(err error, limit int64) error {
	switch {
	case errors.Is(err, errTooLarge):
		return tooLarge(limit)
	case errors.Is(err, errNoBudget):
		return overloaded().Because(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "The body came too slowly").After(time.Second)
	case errors.Is(err, errCorrupt):
		return fault.Field(fault.Malformed, "body", "does not decode by its Content-Encoding").Because(err)
	}
	return fault.Field(fault.Malformed, "body", "was cut off").Because(err)
}

func overloaded() *fault.Error {
	return fault.New(fault.Unavailable, "Too many requests are being worked on").After(time.Second)
}

func tooLarge(limit int64) error {
	return fault.Newf(fault.TooLarge, "The body is larger than %d bytes", limit).
		With("field", "body").With("reason", "is too large").With("limit", limit)
}

// MediaType returns the media type in the request's Content-Type, or "" if it cannot be
// parsed. Body decides whether the type is accepted.
func MediaType(r *http.Request) string {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return mediaType
}

// checkContentType checks that there is exactly one Content-Type, that it is one of allowed,
// and that its charset is UTF-8.
func checkContentType(h http.Header, allowed []string) error {
	wrong := func(reason string) error {
		return fault.Field(fault.UnsupportedMedia, "Content-Type", reason, allowed...)
	}
	values := h.Values("Content-Type")
	switch len(values) {
	case 0:
		return wrong("is missing")
	case 1:
	default:
		return wrong("is given more than once")
	}
	mediaType, params, err := mime.ParseMediaType(values[0])
	if err != nil || !slices.Contains(allowed, mediaType) {
		return wrong("is not one of the allowed types")
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return wrong("must have charset utf-8")
	}
	return nil
}

// Small and large buffers have separate pools, so that a small request does not use a
// large buffer.
var (
	smallBuffers = sync.Pool{New: func() any { return newBuffer(readStep) }}
	largeBuffers = bufferpool.New[*[]byte](pooledBytes, pooledTime)
)

func newBuffer(size int) *[]byte {
	buffer := make([]byte, 0, size)
	return &buffer
}

func getBuffer(contentLength int64) *[]byte {
	if contentLength <= smallBody {
		return smallBuffers.Get().(*[]byte)
	}
	if buffer, ok := largeBuffers.Get(); ok {
		return buffer
	}
	return newBuffer(smallBody)
}

func putBuffer(buffer *[]byte) {
	*buffer = (*buffer)[:0]
	if size := cap(*buffer); size <= smallBody {
		smallBuffers.Put(buffer)
	} else {
		largeBuffers.Put(buffer, size)
	}
}
