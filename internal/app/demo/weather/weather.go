// Package weather contains a public set of measurements for the demo's history: the daily weather of Seattle and New
// York from 2012 to 2015, by NOAA (GHCN-Daily), in the public domain. weather.csv is the file of the npm package
// vega-datasets, byte for byte. SOURCE.md names its origin and terms.
package weather

import (
	"cmp"
	_ "embed" // the measurements
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
)

// Package is the npm package that the measurements are from.
const Package = "vega-datasets 3.2.1"

//go:embed weather.csv
var file string

// Station is one place and its measurements.
type Station struct {
	Place  string        // Seattle, New York
	Days   []time.Time   // at midnight in UTC, ascending
	Source client.Source // NodeID is the key of its node, as in package hostgraph
	// Series has a value for each day of each metric of the source, in the same order, without the id of the source.
	Series []client.Series
}

// metrics are the columns of the file, after place and date. The package documents wind in km/h; its own script and a
// comparison with another set (hourly wind at the New York airport in 2013, mean difference 0.1) show m/s.
var metrics = []client.Metric{
	{Name: "precipitation", Unit: "mm", Description: "Rain and melted snow of the day"},
	{Name: "temp_max", Unit: "celsius", Description: "Highest temperature of the day"},
	{Name: "temp_min", Unit: "celsius", Description: "Lowest temperature of the day"},
	{Name: "wind", Unit: "m/s", Description: "Average wind speed of the day"},
	{Name: "weather", Description: "The day in a word: drizzle, fog, rain, snow or sun, as the package derives it"},
}

// Stations returns each place with its days in ascending order.
func Stations() (stations []Station, err error) {
	lines, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	for i := 1; err == nil && i < len(lines); i++ {
		place, values := lines[i][0], lines[i][1:]
		if n := len(stations); n == 0 || stations[n-1].Place != place {
			stations = append(stations, newStation(place))
		}
		err = stations[len(stations)-1].add(values)
	}
	return stations, err
}

func newStation(place string) Station {
	return Station{Place: place, Series: make([]client.Series, len(metrics)), Source: client.Source{
		Name: "weather/" + strings.ReplaceAll(strings.ToLower(place), " ", "-"),
		Description: "Daily weather of " + place + ", 2012 to 2015, measured by NOAA (GHCN-Daily, public domain); " +
			"from the npm package " + Package,
		Tags: map[string]string{"dataset": "weather", "place": place}, IntervalSeconds: 24 * 60 * 60, Metrics: metrics,
		NodeID: "weather-station/" + place,
	}}
}

func (s *Station) add(record []string) error {
	day, err := time.Parse(time.DateOnly, record[0])
	s.Days = append(s.Days, day)
	for i, text := range record[1:] {
		series := &s.Series[i]
		series.Metric, series.Timestamps = metrics[i].Name, append(series.Timestamps, day.UnixMilli())
		if metrics[i].Unit == "" {
			series.Strings = append(series.Strings, text)
			continue
		}
		value, numberErr := strconv.ParseFloat(text, 64)
		series.Numbers, err = append(series.Numbers, value), cmp.Or(err, numberErr)
	}
	return err
}
