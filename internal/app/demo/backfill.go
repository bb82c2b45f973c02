package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
)

const (
	day = 24 * time.Hour
	// dataset is the prefix of the names of the history's sources.
	dataset = "weather"
)

// backfill writes the history: real measurements of four years, with one source per station. It skips a station whose
// measurements are all stored.
func (s *session) backfill(ctx context.Context, c *client.Client) ([]weather.Station, error) {
	stations, err := weather.Stations()
	if err != nil {
		return nil, err
	}
	for i := range stations {
		if err := s.backfillStation(ctx, c, &stations[i]); err != nil {
			return nil, fmt.Errorf("back-filling %s: %w", stationName(&stations[i]), err)
		}
	}
	return stations, nil
}

func (s *session) backfillStation(ctx context.Context, c *client.Client, station *weather.Station) error {
	source, _, err := c.EnsureSource(ctx, stationSource(station))
	if err != nil {
		return err
	}
	all := (len(station.Columns) - 1) * len(station.Days) // numbers; the words are not counted
	found, err := stored(ctx, c, source.ID, station, "")
	if err != nil {
		return err
	}
	result := "there already"
	if found != all {
		receipt, err := c.IngestSeries(ctx, stationSeries(source.ID, station))
		if err != nil {
			return err
		}
		if found, err = stored(ctx, c, source.ID, station, receipt.Checkpoint); err != nil {
			return err
		}
		if receipt.Rejected > 0 || found != all {
			return fmt.Errorf("%d of %d measurements are visible, %d were rejected", found, all, receipt.Rejected)
		}
		result = "back-filled"
	}
	s.note(fmt.Sprintf("%s: %s: %s daily measurements from %s to %s (npm package %s, NOAA, public domain)",
		stationName(station), result, thousands(int64(len(station.Columns)*len(station.Days))),
		station.Days[0].Format(time.DateOnly), station.Days[len(station.Days)-1].Format(time.DateOnly), weather.Package))
	return nil
}

// stored counts a station's numbers that can be read, after the points of the checkpoint are visible.
func stored(
	ctx context.Context, c *client.Client, id string, station *weather.Station, checkpoint string,
) (int, error) {
	var metrics []string
	for _, column := range station.Columns {
		if column.Numbers != nil {
			metrics = append(metrics, column.Metric)
		}
	}
	results, err := c.Query(ctx, client.Query{
		SourceIDs: []string{id}, Metrics: metrics, Aggregation: []string{"count"}, Checkpoint: checkpoint,
		From: station.Days[0].Format(time.RFC3339), To: station.Days[len(station.Days)-1].Add(day).Format(time.RFC3339),
	})
	total := 0.0
	for _, r := range results {
		_, counts := r.Numbers("count")
		for _, count := range counts {
			total += count
		}
	}
	return int(total), err
}

func stationName(station *weather.Station) string { return dataset + "/" + station.Slug }

func stationSource(station *weather.Station) client.Source {
	source := client.Source{
		Name: stationName(station),
		Description: "Daily weather of " + station.Place + ", 2012 to 2015, measured by NOAA (GHCN-Daily, public domain); " +
			"from the npm package " + weather.Package,
		Tags: map[string]string{"dataset": dataset, "place": station.Place}, IntervalSeconds: day.Seconds(),
	}
	for _, c := range station.Columns {
		source.Metrics = append(source.Metrics, client.Metric{Name: c.Metric, Unit: c.Unit, Description: c.Description})
	}
	return source
}

func stationSeries(id string, station *weather.Station) (series []client.Series) {
	times := make([]int64, len(station.Days))
	for i, d := range station.Days {
		times[i] = d.UnixMilli()
	}
	for _, c := range station.Columns {
		series = append(series, client.Series{
			SourceID: id, Metric: c.Metric, Timestamps: times, Numbers: c.Numbers, Strings: c.Words,
		})
	}
	return series
}
