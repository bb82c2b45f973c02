package load

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// histogram counts durations in buckets whose width is at most 1/64 of their value. Its
// size is constant and its percentiles are within 1.6 %.
type histogram struct {
	mu       sync.Mutex
	buckets  [bucketsPerOctave * 40]int64
	count    int64
	maxValue time.Duration
}

// bucketsPerOctave is the number of buckets from one power of two to the next.
const bucketsPerOctave = 64

func (h *histogram) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buckets[min(bucketOf(d), len(h.buckets)-1)]++
	h.count++
	h.maxValue = max(h.maxValue, d)
}

// bucketOf returns the bucket of a duration. Buckets are one microsecond wide up to 64 µs
// and a sixty-fourth of a power of two above.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < bucketsPerOctave {
		return int(us)
	}
	shift := bits.Len64(us) - bits.Len64(bucketsPerOctave)
	return bucketsPerOctave*shift + int(us>>shift)
}

// valueOf returns the middle of a bucket.
func valueOf(bucket int) time.Duration {
	if bucket < 2*bucketsPerOctave {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/bucketsPerOctave - 1
	low := uint64(bucket-bucketsPerOctave*shift) << shift
	return time.Duration(low+1<<shift/2) * time.Microsecond
}

// Distribution is a summary of durations.
type Distribution struct {
	Count int64 `json:"count"`
	P50   ms    `json:"p50Ms"`
	P95   ms    `json:"p95Ms"`
	P99   ms    `json:"p99Ms"`
	Max   ms    `json:"maxMs"`
}

// ms is a duration in milliseconds.
type ms float64

// Duration returns the duration.
func (m ms) Duration() time.Duration { return time.Duration(float64(m) * float64(time.Millisecond)) }

func toMS(d time.Duration) ms { return ms(float64(d.Microseconds()) / 1000) }

func (h *histogram) distribution() Distribution {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Distribution{
		Count: h.count, P50: h.percentile(0.50), P95: h.percentile(0.95), P99: h.percentile(0.99), Max: toMS(h.maxValue),
	}
}

// percentile returns the smallest value that a fraction p of all values does not exceed.
func (h *histogram) percentile(p float64) ms {
	rank := int64(math.Ceil(p * float64(h.count)))
	for i, n := range h.buckets {
		if rank -= n; rank <= 0 && n > 0 {
			return toMS(min(valueOf(i), h.maxValue))
		}
	}
	return 0
}
