package request

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A body is charged what its buffer holds, not only what has come, and its buffer is
// hardly larger than the body.
func TestTheBudgetCountsWhatBuffersHold(t *testing.T) {
	const limit = 32 << 20
	for _, size := range []int{readStep - 1, readStep, readStep + 1, 5 << 20, 20_000_000, limit} {
		for _, known := range []bool{true, false} {
			budget := NewBudget(2 * limit)
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, size)))
			r.Header.Set("Content-Type", mediaJSON)
			if !known {
				r.ContentLength = -1
			}
			body, release, err := Body(nil, r, limit, Within(budget))
			require.NoError(t, err)
			require.Len(t, body, size)
			most := max(keptBuffer, size+2*readStep)
			if !known {
				most = max(keptBuffer, min(2*size, limit)+readStep)
			}
			require.LessOrEqual(t, cap(body), most, "%d bytes, known: %v", size, known)
			if cap(body) > keptBuffer { // a pooled one's room is not this body's doing
				require.GreaterOrEqual(t, budget.Used(), int64(cap(body)))
			}
			require.GreaterOrEqual(t, budget.Used(), int64(size))
			release()
			require.Zero(t, budget.Used())
		}
	}
}

// A claim alone takes no memory: a buffer grows with what came.
func TestABufferGrowsWithWhatCame(t *testing.T) {
	const limit = 32 << 20
	require.Equal(t, 4<<20, grown(1<<20, 20<<20, limit), "four times what came")
	require.Equal(t, 5<<20+readStep, grown(4<<20, 5<<20, limit), "no more than it says")
	require.Equal(t, 2<<20, grown(1<<20, 0, limit), "twice what came, where it does not say")
	require.Equal(t, 2<<20, grown(1<<20, 1000, limit), "or says too little")
	require.Equal(t, limit+readStep, grown(30<<20, 0, limit), "no more than is taken")
}
