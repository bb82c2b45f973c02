// Package grafana runs the queries of deploy/grafana/dashboards/livegraph-data.json against a running
// Livegraph and compares the frames with the ingested points.
//
// Tests do not install Grafana and its data source Infinity. This file implements how Infinity's
// backend handles a query, according to its sources (grafana-infinity-datasource: pkg/infinity;
// infinity-libs: csvframer, gframer): how it sends the request, and how it converts CSV to typed
// fields. Frames and the conversion from long to wide for charts of several series are Grafana's own
// code, from grafana-plugin-sdk-go. The package is a separate module, so that these dependencies are
// not dependencies of Livegraph.
package grafana

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// Query is a target of a panel, or a variable's query.
type Query struct {
	Type, Source, Parser, Format, URL string
	RootSelector                      string `json:"root_selector"`
	Columns                           []struct{ Selector, Text, Type string }
	URLOptions                        struct {
		Method string
		Params []struct{ Key, Value string }
	} `json:"url_options"`
}

// DataSource is the provisioned data source with its environment filled in.
type DataSource struct {
	URL     string
	Health  string // path of the health check
	Headers map[string]string
}

// Fetch sends the query's request, with variables replaced as Grafana does before it passes a query to
// a data source, and returns the body of the answer.
func (d *DataSource) Fetch(q *Query, variables map[string]string) ([]byte, error) {
	values := url.Values{}
	for _, p := range q.URLOptions.Params {
		value := p.Value
		for name, replacement := range variables {
			value = strings.ReplaceAll(value, "${"+name+"}", replacement)
		}
		if strings.Contains(value, "$") {
			return nil, fmt.Errorf("parameter %s has a variable that nothing fills: %s", p.Key, value)
		}
		values.Add(p.Key, value)
	}
	if q.URLOptions.Method != http.MethodGet {
		return nil, fmt.Errorf("the method is %q", q.URLOptions.Method)
	}
	return d.get(q.URL, values)
}

// get sends a request to a path of the data source and returns the body of the answer. A status of 400
// or above is an error.
func (d *DataSource) get(path string, values url.Values) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, d.URL+path+"?"+values.Encode(), nil)
	if err != nil {
		return nil, err
	}
	for name, value := range d.Headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return body, err
}

// Frame converts a CSV answer to a frame with the query's columns in alphabetical order. A value that
// is invalid for the column's type is null. A time series is converted to wide format.
func (q *Query) Frame(body []byte) (*data.Frame, error) {
	reader := csv.NewReader(strings.NewReader(string(body)))
	reader.LazyQuotes = true
	table, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	columns := slices.Clone(q.Columns)
	slices.SortFunc(columns, func(a, b struct{ Selector, Text, Type string }) int {
		return strings.Compare(a.Selector, b.Selector)
	})
	frame := data.NewFrame("A")
	for _, c := range columns {
		if c.Text != "" && c.Text != c.Selector {
			return nil, fmt.Errorf("column %s is renamed, and Infinity then loses it in CSV", c.Selector)
		}
		index := slices.Index(table[0], c.Selector)
		if index < 0 {
			return nil, fmt.Errorf("the answer has no column %s: %s", c.Selector, table[0])
		}
		field, err := fieldOf(c.Type, c.Selector, table[1:], index)
		if err != nil {
			return nil, err
		}
		frame.Fields = append(frame.Fields, field)
	}
	if q.Format != "timeseries" {
		return frame, nil
	}
	if kind := frame.TimeSeriesSchema().Type; kind != data.TimeSeriesTypeLong {
		return nil, fmt.Errorf("the frame is no long time series but %s", kind)
	}
	return data.LongToWide(frame, &data.FillMissing{Mode: data.FillModeNull})
}

func fieldOf(kind, name string, rows [][]string, index int) (*data.Field, error) {
	times, numbers, texts := make([]*time.Time, len(rows)), make([]*float64, len(rows)), make([]*string, len(rows))
	for i, row := range rows {
		text := row[index]
		texts[i] = &text
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			numbers[i] = &value
		}
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			when := time.UnixMilli(ms)
			times[i] = &when
		}
	}
	switch kind {
	case "timestamp_epoch":
		return data.NewField(name, nil, times), nil
	case "number":
		return data.NewField(name, nil, numbers), nil
	case "string":
		return data.NewField(name, nil, texts), nil
	}
	return nil, fmt.Errorf("column %s has type %s", name, kind)
}

// Options returns the options of a variable's query, by text: the columns __text and __value of the
// list at the root selector.
func (q *Query) Options(body []byte) (map[string]string, error) {
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	var list []map[string]any
	if err := json.Unmarshal(answer[q.RootSelector], &list); err != nil {
		return nil, fmt.Errorf("root selector %s: %w", q.RootSelector, err)
	}
	options := map[string]string{}
	for _, item := range list {
		found := map[string]string{}
		for _, c := range q.Columns {
			found[c.Text], _ = item[c.Selector].(string)
		}
		text, named := found["__text"]
		if !named {
			text = found["__value"]
		}
		options[text] = found["__value"]
	}
	return options, nil
}
