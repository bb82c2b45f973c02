package livedata

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// FuzzDeletionParameters: a deletion is either within its bounds or refused with the name of
// a parameter, and an accepted one can be encoded.
func FuzzDeletionParameters(f *testing.F) {
	for _, query := range []string{
		"", "sourceId=0194a5b0-0000-7000-8000-00000000000a&metric=a&from=-1h&to=now",
		"sourceId=0194a5b0-0000-7000-8000-00000000000a&from=-9223372036854775807w&to=253402300799000",
		"sourceId=x&metric=", "metric=a&from=now-&to=-0s", "a;b=1&%zz",
	} {
		f.Add(query)
	}
	now := time.Date(2026, 11, 21, 7, 40, 8, 290_296_000, time.UTC)
	f.Fuzz(func(t *testing.T, raw string) {
		d, err := readDeletion(request.Query(&http.Request{URL: &url.URL{RawQuery: raw}}), now)
		if err != nil {
			var refusal *fault.Error
			require.ErrorAs(t, err, &refusal)
			require.Contains(t, []fault.Kind{fault.Malformed, fault.Invalid}, refusal.Kind, "%v", err)
			require.NotEmpty(t, refusal.Details["field"])
			require.NotEmpty(t, refusal.Details["reason"])
			return
		}
		require.False(t, d.HasFrom && d.HasTo && d.FromUS >= d.ToUS)
		var again pointblock.Record
		require.NoError(
			t, pointblock.Decode(pointblock.EncodeDeletions(uuid.New(), 1, []pointblock.Deletion{d}), &again),
			"what is taken can be written down",
		)
		require.Equal(t, []pointblock.Deletion{d}, again.Deletions)
	})
}
