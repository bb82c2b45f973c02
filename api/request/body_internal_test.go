package request

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// The budget counts the capacity of a body's buffer, not only the received bytes, and the
// buffer is not much larger than the body.
func TestTheBudgetCountsWhatBuffersHold(t *testing.T) {
	const limit = 32 << 20
	for _, size := range []int{readStep - 1, readStep, readStep + 1, 5 << 20, 20_000_000, limit} {
		for _, known := range []bool{true, false} {
			for pooled := true; pooled; { // the capacity of a pooled buffer is not counted
				_, pooled = largeBuffers.Get()
			}
			budget := NewBudget(2 * limit)
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, size)))
			r.Header.Set("Content-Type", mediaJSON)
			if !known {
				r.ContentLength = -1
			}
			body, release, err := Body(nil, r, limit, WithBudget(budget))
			require.NoError(t, err)
			require.Len(t, body, size)
			maxCapacity := max(smallBody, size+2*readStep)
			if !known {
				maxCapacity = max(smallBody, min(2*size, limit)+readStep)
			}
			require.LessOrEqual(t, cap(body), maxCapacity, "%d bytes, known: %v", size, known)
			if cap(body) > smallBody {
				require.GreaterOrEqual(t, budget.Used(), int64(cap(body)))
			}
			require.GreaterOrEqual(t, budget.Used(), int64(size))
			release()
			require.Zero(t, budget.Used())
		}
	}
}

// A buffer grows with the received bytes, not with the announced size.
func TestABufferGrowsWithWhatCame(t *testing.T) {
	const limit = 32 << 20
	require.Equal(t, 4<<20, nextCapacity(1<<20, 20<<20, limit), "four times the received bytes")
	require.Equal(t, 5<<20+readStep, nextCapacity(4<<20, 5<<20, limit), "at most the announced size")
	require.Equal(t, 2<<20, nextCapacity(1<<20, 0, limit), "twice the received bytes without an announced size")
	require.Equal(t, 2<<20, nextCapacity(1<<20, 1000, limit), "or with one that is too small")
	require.Equal(t, limit+readStep, nextCapacity(30<<20, 0, limit), "at most the limit")
}
