package native

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Runs behave like a slice of all values.
func TestRunsDecodeToTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs Runs
		var all []uint64
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				value, rows := rapid.Uint64Range(0, 2).Draw(t, "value"), rapid.IntRange(0, 5).Draw(t, "rows")
				runs.Append(value, rows)
				for range rows {
					all = append(all, value)
				}
			},
			"truncate": func(t *rapid.T) {
				rows := rapid.IntRange(0, len(all)).Draw(t, "rows")
				runs.Truncate(rows)
				all = all[:rows]
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(all), runs.Len())
				from := rapid.IntRange(0, len(all)).Draw(t, "from")
				require.Equal(t, append([]uint64{7}, all[from:]...), runs.AppendTo([]uint64{7}, from))
				if len(all) > 0 {
					require.Equal(t, all[len(all)-1], runs.Last())
				}
				last, started := uint64(0), false
				for value, rows := range runs.All() {
					require.Positive(t, rows)
					require.False(t, started && value == last, "equal values are one run")
					last, started = value, true
				}
				copied := RunsOf(all...)
				require.Equal(t, append([]uint64{7}, all...), copied.AppendTo([]uint64{7}, 0))
			},
		})
	})
}
