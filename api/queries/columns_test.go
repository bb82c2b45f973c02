package queries

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// TestLargePagesAreRefusedBeyondTheirMemory: pages are counted with their maximum size until they are read, and with
// their own size afterwards.
func TestLargePagesAreRefusedBeyondTheirMemory(t *testing.T) {
	a := &api{pages: budget.New(pageMemory)}
	var shares []*budget.Share
	reserve := func(limit int) error {
		page := graphread.Page{Limit: limit}
		share, err := a.reserve(&page, maxNodeBytes)
		require.Equal(t, columnBytes, page.MaxBytes)
		if err == nil {
			shares = append(shares, share)
		}
		return err
	}
	for range 10 {
		require.NoError(t, reserve(10_000))
	}
	for _, limit := range []int{10_000, 100, 1} {
		err := reserve(limit)
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
	}
	shares[0].Shrink(bytesPerByte * 1 << 20)
	require.Equal(t, fault.Unavailable, fault.KindOf(reserve(10_000)))
	require.NoError(t, reserve(100), "small pages need less")
	for _, share := range shares {
		share.Release()
	}
	require.Zero(t, a.pages.Used())
}
