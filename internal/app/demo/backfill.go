package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
)

const (
	day = 24 * time.Hour
	// dataset is the tag by which the back-filled sources are told apart.
	dataset = "weather"
)

// backfill writes the workspace's history: real measurements of four years,
// each station one source. Doing it again changes nothing: a station whose
// measurements are all there is left alone, and sending them again would write
// the same values under the same timestamps.
func (s *session) backfill(ctx context.Context, c *client.Client) ([]weather.Station, error) {
	stations, err := weather.Stations()
	if err != nil {
		return nil, err
	}
	for i := range stations {
		if err := s.backfillStation(ctx, c, &stations[i]); err != nil {
			return nil, fmt.Errorf("back-filling %s: %w", stationSource(&stations[i]).Name, err)
		}
	}
	return stations, nil
}

func (s *session) backfillStation(ctx context.Context, c *client.Client, station *weather.Station) error {
	wanted := stationSource(station)
	source, _, err := c.EnsureSource(ctx, wanted)
	if err != nil {
		return err
	}
	there, err := stored(ctx, c, source.ID, station, "")
	if err != nil {
		return err
	}
	says := "there already"
	if numbers := numbersOf(station); there != numbers {
		receipt, err := c.IngestSeries(ctx, stationSeries(source.ID, station))
		if err != nil {
			return err
		}
		if receipt.Rejected > 0 {
			return fmt.Errorf("%d measurements were rejected: %s", receipt.Rejected, firstReason(receipt))
		}
		if there, err = stored(ctx, c, source.ID, station, receipt.Checkpoint); err != nil {
			return err
		}
		if there != numbers {
			return fmt.Errorf("%d of %d measurements are visible", there, numbers)
		}
		says = "back-filled"
	}
	s.say(fmt.Sprintf("%s: %s: %s daily measurements from %s to %s (npm package %s, NOAA, public domain)",
		wanted.Name, says, thousands(int64(station.Measurements())),
		station.Days[0].Format(time.DateOnly), station.Days[len(station.Days)-1].Format(time.DateOnly), weather.Package))
	return nil
}

// stored counts a station's numbers that can be read; words are not counted.
// With a checkpoint it waits for that one first.
func stored(
	ctx context.Context, c *client.Client, id string, station *weather.Station, checkpoint string,
) (int, error) {
	last := station.Days[len(station.Days)-1]
	results, err := c.Query(ctx, client.Query{
		SourceIDs: []string{id}, Metrics: numberMetrics(station), Aggregation: []string{"count"}, Checkpoint: checkpoint,
		From: station.Days[0].Format(time.RFC3339), To: last.Add(day).Format(time.RFC3339),
	})
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, r := range results {
		_, counts := r.Numbers("count")
		for _, count := range counts {
			total += count
		}
	}
	return int(total), nil
}

func numberMetrics(station *weather.Station) []string {
	var metrics []string
	for _, column := range station.Columns {
		if column.Numbers != nil {
			metrics = append(metrics, column.Metric)
		}
	}
	return metrics
}

func numbersOf(station *weather.Station) int { return len(numberMetrics(station)) * len(station.Days) }

// stationSource describes a station as a source.
func stationSource(station *weather.Station) client.Source {
	source := client.Source{
		Name: dataset + "/" + station.Slug,
		Description: "Daily weather of " + station.Place + ", 2012 to 2015, measured by NOAA (GHCN-Daily, public domain); " +
			"from the npm package " + weather.Package,
		Tags:            map[string]string{"dataset": dataset, "place": station.Place},
		IntervalSeconds: day.Seconds(),
	}
	for _, column := range station.Columns {
		source.Metrics = append(source.Metrics, client.Metric{
			Name: column.Metric, Unit: column.Unit, Description: column.Description,
		})
	}
	return source
}

// stationSeries returns a station's measurements by column.
func stationSeries(id string, station *weather.Station) []client.Series {
	times := make([]int64, len(station.Days))
	for i, d := range station.Days {
		times[i] = d.UnixMilli()
	}
	series := make([]client.Series, len(station.Columns))
	for i, column := range station.Columns {
		series[i] = client.Series{
			SourceID: id, Metric: column.Metric, Timestamps: times, Numbers: column.Numbers, Words: column.Words,
		}
	}
	return series
}

func firstReason(r client.Receipt) string {
	if len(r.Errors) == 0 {
		return "no reason given"
	}
	return r.Errors[0].Field + ": " + r.Errors[0].Reason
}

// explainBackfill reports what a failed back-fill means: the live part goes on.
func explainBackfill(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "the back-fill was cut short; the next demo goes on with it"
	}
	return "no back-fill: " + err.Error()
}
