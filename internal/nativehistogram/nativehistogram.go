// Package nativehistogram encodes native histograms of Prometheus as texts, which are the values of points.
//
// A text is [Prefix] and the base64 of the message prometheus.Histogram without its timestamp
// (https://github.com/prometheus/prometheus/blob/main/prompb/types.proto). Equal histograms have equal texts.
package nativehistogram

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
)

const (
	// Prefix distinguishes histograms from other texts.
	Prefix = "histogram:"
	// MaxBytes is the maximum size of a message. Prometheus limits a histogram of a target to 160 buckets by default
	// in most clients, which have less than 1 KiB.
	MaxBytes = 8 << 10
)

// ErrMalformed means that the bytes are not a message. ErrInvalid means that the message is not a histogram that
// Prometheus accepts, or is too large.
var (
	ErrMalformed = errors.New("not a message prometheus.Histogram")
	ErrInvalid   = errors.New("not a valid native histogram")
)

// Histogram is a decoded histogram. Exactly one field is set.
type Histogram struct {
	Int   *histogram.Histogram      // counts are integers
	Float *histogram.FloatHistogram // counts are floats
}

// Is reports whether a text is a histogram.
func Is(text string) bool { return strings.HasPrefix(text, Prefix) }

// IsFloat reports whether the counts of a histogram are floats. It does not check the text, which is a histogram.
func IsFloat(text string) bool {
	const quantum, floatCount = 4, 2<<3 | 1 // the tag of the message's first field, count_int or count_float
	encoded := strings.TrimPrefix(text, Prefix)
	raw, err := base64.StdEncoding.DecodeString(encoded[:min(quantum, len(encoded))])
	return err == nil && len(raw) > 0 && raw[0] == floatCount
}

// Append appends the text of a histogram to dst and returns its time in milliseconds. message is a
// prometheus.Histogram, or an io.prometheus.write.v2.Histogram, which has the same fields. The error is ErrMalformed,
// without a time, or ErrInvalid. Then dst is returned as it was. The hint that a counter was not reset since the
// sample before is removed, because that sample may not be stored.
func Append(dst, message []byte) (text []byte, ms int64, err error) {
	var m prompb.Histogram
	if err := m.Unmarshal(message); err != nil {
		return dst, 0, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(message) > MaxBytes {
		return dst, m.Timestamp, ErrInvalid
	}
	h, err := fromMessage(&m)
	if err != nil {
		return dst, m.Timestamp, err
	}
	text, err = appendText(dst, h)
	return text, m.Timestamp, err
}

// AppendInt appends the text of a histogram whose counts are integers to dst. It has the rules of Append. The error is
// ErrInvalid.
func AppendInt(dst []byte, h *histogram.Histogram) (text []byte, err error) {
	if err := h.Validate(); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return appendText(dst, Histogram{Int: h})
}

// appendText appends the text of a valid histogram to dst.
func appendText(dst []byte, h Histogram) (text []byte, err error) {
	m := h.Message(0)
	if m.ResetHint == prompb.Histogram_NO {
		m.ResetHint = prompb.Histogram_UNKNOWN
	}
	raw, err := m.Marshal()
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(raw) > MaxBytes {
		return dst, fmt.Errorf("%w: it has %d bytes", ErrInvalid, len(raw))
	}
	return base64.StdEncoding.AppendEncode(append(dst, Prefix...), raw), nil
}

// Message returns the message of a histogram with a time in milliseconds.
func (h Histogram) Message(ms int64) prompb.Histogram {
	if h.Int != nil {
		return prompb.FromIntHistogram(ms, h.Int)
	}
	return prompb.FromFloatHistogram(ms, h.Float)
}

// Decode returns the histogram of a text.
func Decode(text string) (Histogram, error) {
	encoded, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return Histogram{}, ErrMalformed
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return Histogram{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var m prompb.Histogram
	if err := m.Unmarshal(raw); err != nil {
		return Histogram{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return fromMessage(&m)
}

// fromMessage returns the histogram of a message. The error is ErrInvalid.
func fromMessage(m *prompb.Histogram) (h Histogram, err error) {
	switch {
	case m.Count == nil:
		return h, fmt.Errorf("%w: it has no count", ErrInvalid)
	case m.IsFloatHistogram():
		h.Float = m.ToFloatHistogram()
		if err = h.Float.Validate(); err == nil {
			err = removeEmpty(&h.Float.PositiveSpans, &h.Float.NegativeSpans)
		}
	default:
		h.Int = m.ToIntHistogram()
		if err = h.Int.Validate(); err == nil {
			err = removeEmpty(&h.Int.PositiveSpans, &h.Int.NegativeSpans)
		}
	}
	if err != nil {
		return Histogram{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return h, nil
}

// errSpan is the error of spans whose offsets are beyond the numbers of buckets.
var errSpan = errors.New("the offsets of its spans are too large")

// removeEmpty removes spans without buckets, in place, which changes no bucket. Prometheus' receiver for OpenTelemetry
// begins with such a span where the first buckets are empty, and Prometheus' engine then adds what belongs to a bucket
// at its offset to another one, which shows in rates across a reset of the counter.
func removeEmpty(lists ...*[]histogram.Span) error {
	for _, spans := range lists {
		kept, offset := (*spans)[:0], int64(0)
		for _, span := range *spans {
			offset += int64(span.Offset)
			if span.Length == 0 {
				continue
			}
			if offset < math.MinInt32 || offset > math.MaxInt32 {
				return errSpan
			}
			span.Offset, offset = int32(offset), 0
			kept = append(kept, span)
		}
		*spans = kept
	}
	return nil
}
