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
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	mediaJSON = "application/json"
	// readStep is how much is reserved and read at a time. A Content-Length is
	// a claim: memory follows the bytes that came.
	readStep  = 64 << 10
	smallBody = 1 << 20
	// keptBuffer is the largest that waits for another body. Those beyond are the
	// collector's at once, since nobody's budget has them while they wait.
	keptBuffer = 4 << 20
)

// BodyOption changes how Body reads.
type BodyOption func(*bodyReader)

// Types lists the media types that are taken; application/json without it.
func Types(mediaTypes ...string) BodyOption {
	return func(b *bodyReader) { b.types = mediaTypes }
}

// AnyType takes whatever Content-Type there is, or none: for the clients of other
// products, which send what they like.
func AnyType() BodyOption {
	return func(b *bodyReader) { b.anyType = true }
}

// EncodedBy reports how a body is encoded whose request does not say: gzip, zstd or
// snappy.
func EncodedBy(encoding string) BodyOption {
	return func(b *bodyReader) { b.encoding = encoding }
}

// Plain takes bodies in no encoding only.
func Plain() BodyOption {
	return func(b *bodyReader) { b.plain = true }
}

// Within reserves the body's bytes in a budget shared with other requests; when
// it is used up the answer is Unavailable, at once.
func Within(budget *Budget) BodyOption {
	return func(b *bodyReader) { b.budget = budget }
}

// Budget bounds the bytes of all bodies that are worked on at one time.
type Budget struct{ *budget.Budget }

// NewBudget creates a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{budget.New(limit)} }

// Room refuses, as Unavailable, when a body would find no room: so a request need not be
// counted before it is refused.
func (b *Budget) Room() error {
	if b == nil || b.Fits(min(readStep, b.Limit())) {
		return nil
	}
	return noRoom()
}

// Register makes the budget's fill known to the registerer; nil: nothing happens.
func (b *Budget) Register(registerer prometheus.Registerer) {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_http_bodies_bytes",
		Help: "Bytes of bodies of ingest and commands that are being worked on, decoded.",
	}, func() float64 { return float64(b.Used()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_http_bodies_limit_bytes",
		Help: "Most bytes of such bodies that are worked on at a time; beyond, 503.",
	}, func() float64 { return float64(b.Limit()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_http_bodies_refused_total", Help: "Bodies answered 503 because no room was left for them.",
	}, func() float64 { return float64(b.Refused()) })
}

type bodyReader struct {
	types    []string
	anyType  bool
	encoding string // of bodies without a Content-Encoding
	plain    bool
	budget   *Budget
	share    *budget.Share // of the budget
}

// Body reads a request's body into a pooled buffer of at most limit bytes,
// decoded by its Content-Encoding (gzip, zstd, snappy). The caller calls release
// when nothing refers to the bytes any more; after an error there is nothing to
// release. w may be nil.
//
// UnsupportedMedia: Content-Type is not one of the options' types, its charset
// not UTF-8, or the encoding unknown or nested. TooLarge: more than limit.
// Malformed: cut off or corrupt. Timeout: it came too slowly for the server's
// read deadline. Unavailable: the budget is used up.
func Body(
	_ http.ResponseWriter, r *http.Request, limit int64, options ...BodyOption,
) (body []byte, release func(), err error) {
	reader := &bodyReader{types: []string{mediaJSON}}
	for _, option := range options {
		option(reader)
	}
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil, nil, fault.Field(fault.Malformed, "body", "is empty")
	}
	if !reader.anyType {
		if err := checkContentType(r.Header, reader.types); err != nil {
			return nil, nil, err
		}
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
	buffer := takeBuffer(r.ContentLength)
	giveBack := sync.OnceFunc(func() {
		returnBuffer(buffer)
		reader.share.Release()
	})
	if err := reader.decode(buffer, encoding, r.Body, r.ContentLength, limit); err != nil {
		giveBack()
		return nil, nil, reader.explain(err, limit)
	}
	return *buffer, giveBack, nil
}

var (
	errTooLarge = errors.New("body beyond its limit")
	errNoBudget = errors.New("no budget left for bodies")
)

// reserve adds n bytes to the body's share of the budget, where there is one.
func (b *bodyReader) reserve(n int64) error {
	if b.budget == nil {
		return nil
	}
	ok := true
	if b.share == nil {
		b.share, ok = b.budget.Take(n)
	} else {
		ok = b.share.Grow(n)
	}
	if !ok {
		return errNoBudget
	}
	return nil
}

// fill reads all of src into buffer, in steps. size is how much it says it is; nothing
// or less where that is not known.
func (b *bodyReader) fill(buffer *[]byte, src io.Reader, size, limit int64) error {
	reserved := 0
	for {
		if len(*buffer) == cap(*buffer) {
			room := grown(cap(*buffer), size, limit)
			if err := b.reserve(int64(room - reserved)); err != nil {
				return err
			}
			reserved = room
			*buffer = append(make([]byte, 0, room), *buffer...)
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

// grown returns the next capacity of a buffer that is full: what came so far lets a body
// claim as much again, or three times that where it says its size; never more than it is
// long or may be, and a step to find its end in.
func grown(full int, size, limit int64) int {
	if size < int64(full) {
		return int(min(max(readStep, 2*int64(full)), limit+readStep))
	}
	return int(min(max(readStep, 4*int64(full)), size+readStep, limit+readStep))
}

func (b *bodyReader) explain(err error, limit int64) error {
	switch {
	case errors.Is(err, errTooLarge):
		return tooLarge(limit)
	case errors.Is(err, errNoBudget):
		return noRoom().Because(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "The body came too slowly").After(time.Second)
	case errors.Is(err, errCorrupt):
		return fault.Field(fault.Malformed, "body", "does not decode by its Content-Encoding").Because(err)
	}
	return fault.Field(fault.Malformed, "body", "was cut off").Because(err)
}

func noRoom() *fault.Error {
	return fault.New(fault.Unavailable, "Too many requests are being worked on").After(time.Second)
}

func tooLarge(limit int64) error {
	return fault.Newf(fault.TooLarge, "The body is larger than %d bytes", limit).
		With("field", "body").With("reason", "is too large").With("limit", limit)
}

// MediaType returns the media type of a request's body as its Content-Type has it,
// "" where that cannot be read. Body decides whether it is taken.
func MediaType(r *http.Request) string {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return mediaType
}

// checkContentType wants exactly one Content-Type, one of allowed, in UTF-8.
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

// The pools keep small and large buffers apart, so that a small request does
// not hold a large one's memory.
var smallBuffers, largeBuffers = newBufferPool(readStep), newBufferPool(smallBody)

func newBufferPool(size int) *sync.Pool {
	return &sync.Pool{New: func() any {
		buffer := make([]byte, 0, size)
		return &buffer
	}}
}

func takeBuffer(contentLength int64) *[]byte {
	pool := smallBuffers
	if contentLength > smallBody {
		pool = largeBuffers
	}
	buffer := pool.Get().(*[]byte)
	*buffer = (*buffer)[:0]
	return buffer
}

func returnBuffer(buffer *[]byte) {
	switch size := cap(*buffer); {
	case size <= smallBody:
		smallBuffers.Put(buffer)
	case size <= keptBuffer:
		largeBuffers.Put(buffer)
	}
}
