// Package weather contains a public set of measurements for the demo's history: the daily weather of Seattle and New
// York from 2012 to 2015, 2,922 days with four measurements and a word each.
//
// The measurements are of NOAA's daily climatology (GHCN-Daily), in the public domain; weather.csv is the file of the
// npm package vega-datasets, byte for byte. SOURCE.md names its origin and terms.
package weather

import (
	_ "embed" // the measurements
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Package is the npm package that the measurements are from.
const Package = "vega-datasets 3.2.1"

//go:embed weather.csv
var file string

// Column is one metric of a station: a value a day, numbers or words.
type Column struct {
	Metric      string
	Unit        string
	Description string
	Numbers     []float64 // nil for a column of words
	Words       []string  // nil for a column of numbers
}

// Station is one place. Days[i] is the midnight in UTC of the i-th value of every column.
type Station struct {
	Place   string // Seattle, New York
	Slug    string // seattle, new-york
	Days    []time.Time
	Columns []Column
}

// columns are those of the file, after place and date. The package documents wind in km/h; its own script and a
// comparison with another set (hourly wind at the New York airport in 2013, mean difference 0.1) show m/s.
func columns() []Column {
	return []Column{
		{Metric: "precipitation", Unit: "mm", Description: "Rain and melted snow of the day"},
		{Metric: "temp_max", Unit: "celsius", Description: "Highest temperature of the day"},
		{Metric: "temp_min", Unit: "celsius", Description: "Lowest temperature of the day"},
		{Metric: "wind", Unit: "m/s", Description: "Average wind speed of the day"},
		{Metric: "weather", Description: "The day in a word: drizzle, fog, rain, snow or sun, as the package derives it"},
	}
}

// Stations returns each place with its days in ascending order.
func Stations() (stations []Station, err error) {
	lines, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the weather set: %w", err)
	}
	for i, record := range lines[1:] {
		if n := len(stations); n == 0 || stations[n-1].Place != record[0] {
			slug := strings.ReplaceAll(strings.ToLower(record[0]), " ", "-")
			stations = append(stations, Station{Place: record[0], Slug: slug, Columns: columns()})
		}
		if err := stations[len(stations)-1].add(record[1:]); err != nil {
			return nil, fmt.Errorf("reading the weather set, line %d: %w", i+2, err)
		}
	}
	return stations, nil
}

func (s *Station) add(record []string) error {
	day, err := time.Parse(time.DateOnly, record[0])
	if err != nil {
		return err
	}
	s.Days = append(s.Days, day)
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Unit == "" {
			c.Words = append(c.Words, record[1+i])
			continue
		}
		value, err := strconv.ParseFloat(record[1+i], 64)
		if err != nil {
			return err
		}
		c.Numbers = append(c.Numbers, value)
	}
	return nil
}
