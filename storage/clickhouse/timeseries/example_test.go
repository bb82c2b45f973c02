package timeseries_test

import (
	"fmt"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// The day on which the clocks go forward has 23 hours, and is one bucket.
func ExampleNewGrid() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	from, to := time.Date(2026, 3, 28, 0, 0, 0, 0, berlin), time.Date(2026, 3, 31, 0, 0, 0, 0, berlin)
	grid := timeseries.NewGrid(24*time.Hour, berlin, from.UnixMicro(), to.UnixMicro())
	for at := grid.Start(from.UnixMicro()); at < to.UnixMicro(); at = grid.Next(at) {
		fmt.Println(time.UnixMicro(at).UTC().Format(time.RFC3339), time.Duration(grid.Next(at)-at)*time.Microsecond)
	}
	// Output:
	// 2026-03-27T23:00:00Z 24h0m0s
	// 2026-03-28T23:00:00Z 23h0m0s
	// 2026-03-29T22:00:00Z 24h0m0s
}
