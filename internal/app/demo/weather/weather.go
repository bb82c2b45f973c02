// Package weather holds a real, public set of measurements for the demo's
// back-fill: the daily weather of Seattle and New York over the four years 2012
// to 2015, 2,922 days with four measurements and a word each.
//
// The measurements are of NOAA's daily climatology (GHCN-Daily), a work of the
// United States government and in the public domain; the file weather.csv is
// the one that the npm package vega-datasets ships, byte for byte. SOURCE.md
// says where it is from, under what terms, and how it is fetched again.
package weather

import (
	_ "embed" // the measurements
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Package is where the measurements were taken from: name and version in npm.
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

// Station is one place. Days[i] is the day of the i-th value of every column:
// its midnight in UTC, as the set knows dates and no hours.
type Station struct {
	Place   string // Seattle, New York
	Slug    string // seattle, new-york
	Days    []time.Time
	Columns []Column
}

// Measurements counts the values of all columns.
func (s *Station) Measurements() int { return len(s.Days) * len(s.Columns) }

// header is the file's first line. The package says that wind is in km/h; its
// own script and a comparison with another set (hourly wind at the New York
// airport in 2013, mean difference 0.1) say that it is in m/s.
var header = []string{"location", "date", "precipitation", "temp_max", "temp_min", "wind", "weather"}

func columns() []Column {
	return []Column{
		{Metric: "precipitation", Unit: "mm", Description: "Rain and melted snow of the day"},
		{Metric: "temp_max", Unit: "celsius", Description: "Highest temperature of the day"},
		{Metric: "temp_min", Unit: "celsius", Description: "Lowest temperature of the day"},
		{Metric: "wind", Unit: "m/s", Description: "Average wind speed of the day"},
		{Metric: "weather", Description: "The day in a word: drizzle, fog, rain, snow or sun, as the package derives it"},
	}
}

// Stations reads the set: each place with its days in ascending order.
func Stations() ([]Station, error) { return parse(strings.NewReader(file)) }

func parse(r io.Reader) ([]Station, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = len(header)
	first, err := lines.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the weather set: %w", err)
	}
	for i, name := range header {
		if first[i] != name {
			return nil, fmt.Errorf("reading the weather set: column %d is %q, not %q", i+1, first[i], name)
		}
	}
	var stations []Station
	for {
		record, err := lines.Read()
		if err == io.EOF {
			return stations, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the weather set: %w", err)
		}
		if n := len(stations); n == 0 || stations[n-1].Place != record[0] {
			slug := strings.ReplaceAll(strings.ToLower(record[0]), " ", "-")
			stations = append(stations, Station{Place: record[0], Slug: slug, Columns: columns()})
		}
		if err := stations[len(stations)-1].add(record); err != nil {
			line, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("reading the weather set, line %d: %w", line, err)
		}
	}
}

// add takes one line of the file.
func (s *Station) add(record []string) error {
	day, err := time.Parse(time.DateOnly, record[1])
	if err != nil {
		return err
	}
	if n := len(s.Days); n > 0 && !day.After(s.Days[n-1]) {
		return fmt.Errorf("%s does not come after %s", record[1], s.Days[n-1].Format(time.DateOnly))
	}
	last := len(s.Columns) - 1
	for i := range s.Columns[:last] {
		value, err := strconv.ParseFloat(record[2+i], 64)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Columns[i].Metric, err)
		}
		s.Columns[i].Numbers = append(s.Columns[i].Numbers, value)
	}
	s.Columns[last].Words = append(s.Columns[last].Words, record[2+last])
	s.Days = append(s.Days, day)
	return nil
}
