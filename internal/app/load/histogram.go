package load

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// histogram counts durations in buckets that are at most 1/64 wide, so that it is
// bounded however much is counted and its percentiles are within 1.6 %.
type histogram struct {
	mu      sync.Mutex
	buckets [fine * 40]int64
	count   int64
	most    time.Duration
}

// fine is how many buckets there are from one power of two to the next.
const fine = 64

func (h *histogram) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buckets[min(bucketOf(d), len(h.buckets)-1)]++
	h.count++
	h.most = max(h.most, d)
}

// bucketOf counts in microseconds: exactly up to 64, by sixty-fourths above.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < fine {
		return int(us)
	}
	shift := bits.Len64(us) - bits.Len64(fine)
	return fine*shift + int(us>>shift)
}

// valueOf returns the middle of a bucket.
func valueOf(bucket int) time.Duration {
	if bucket < 2*fine {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/fine - 1
	low := uint64(bucket-fine*shift) << shift
	return time.Duration(low+1<<shift/2) * time.Microsecond
}

// Distribution sums up durations.
type Distribution struct {
	Count int64 `json:"count"`
	P50   ms    `json:"p50Ms"`
	P95   ms    `json:"p95Ms"`
	P99   ms    `json:"p99Ms"`
	Max   ms    `json:"maxMs"`
}

// ms is a duration in milliseconds, as it is printed.
type ms float64

// Duration returns the duration.
func (m ms) Duration() time.Duration { return time.Duration(float64(m) * float64(time.Millisecond)) }

func inMS(d time.Duration) ms { return ms(float64(d.Microseconds()) / 1000) }

func (h *histogram) distribution() Distribution {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Distribution{
		Count: h.count, P50: h.percentile(0.50), P95: h.percentile(0.95), P99: h.percentile(0.99), Max: inMS(h.most),
	}
}

// percentile returns the least value that p of all do not exceed.
func (h *histogram) percentile(p float64) ms {
	rank := int64(math.Ceil(p * float64(h.count)))
	for i, n := range h.buckets {
		if rank -= n; rank <= 0 && n > 0 {
			return inMS(min(valueOf(i), h.most))
		}
	}
	return 0
}
