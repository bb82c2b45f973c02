package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	sourcesPath = "/api/live-data/sources"
	ingestPath  = "/api/live-data/ingest"
	queryPath   = "/api/live-data/query"
	// maxPageSize is the maximum number of items in a page of a list.
	maxPageSize = 100
)

// Metric describes a metric of a source.
type Metric struct {
	Name        string `json:"name"`
	Unit        string `json:"unit,omitempty"`
	Description string `json:"description,omitempty"`
}

// Source is a data source, in requests and answers.
type Source struct {
	ID              string            `json:"id,omitempty"`
	Name            string            `json:"name"`
	Description     string            `json:"description,omitempty"`
	NodeID          string            `json:"nodeId,omitempty"` // node of the graph; "" for none
	Metrics         []Metric          `json:"metrics,omitempty"`
	Tags            map[string]string `json:"tags,omitempty"`
	IntervalSeconds float64           `json:"intervalSeconds,omitzero"`
}

// CreateSource creates a source. The error is fault.Conflict if the name is in use.
func (c *Client) CreateSource(ctx context.Context, s Source) (Source, error) {
	body, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return Source{}, fault.Wrap(err, fault.Malformed, "The source cannot be written as JSON")
	}
	answer, err := do[Source](ctx, c, call{method: http.MethodPost, path: sourcesPath, body: body})
	return answer.Data, err
}

// SourceByName returns the source with exactly this name. The error is fault.NotFound if
// there is none.
func (c *Client) SourceByName(ctx context.Context, name string) (Source, error) {
	for offset := 0; ; offset += maxPageSize {
		// The filter finds names that contain this one, in any case.
		query := url.Values{"name": {name}, "limit": {strconv.Itoa(maxPageSize)}, "offset": {strconv.Itoa(offset)}}
		answer, err := do[[]Source](ctx, c, call{method: http.MethodGet, path: sourcesPath, query: query})
		if err != nil {
			return Source{}, err
		}
		if i := slices.IndexFunc(answer.Data, func(s Source) bool { return s.Name == name }); i >= 0 {
			return answer.Data[i], nil
		}
		if !answer.Meta.HasMore || len(answer.Data) == 0 {
			return Source{}, fault.Newf(fault.NotFound, "No source is named %q", name)
		}
	}
}

// LinkSource links a source to a node of the graph. The error is fault.NotFound if the
// source does not exist.
func (c *Client) LinkSource(ctx context.Context, id, node string) error {
	body, err := json.Marshal(struct {
		NodeID string `json:"nodeId"`
	}{node})
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "The node's id cannot be written as JSON")
	}
	_, err = do[Source](ctx, c, call{method: http.MethodPatch, path: sourcesPath + "/" + url.PathEscape(id), body: body})
	return err
}

// EnsureSource returns the source with the name of s. It creates the source if it does not
// exist.
func (c *Client) EnsureSource(ctx context.Context, s Source) (source Source, created bool, err error) {
	source, err = c.CreateSource(ctx, s)
	if err == nil {
		return source, true, nil
	}
	if !fault.Is(err, fault.Conflict) {
		return Source{}, false, err
	}
	source, err = c.SourceByName(ctx, s.Name)
	return source, false, err
}

// DeleteSource deletes a source and its points. The error is fault.NotFound if it does not
// exist. The key needs the scope admin.
func (c *Client) DeleteSource(ctx context.Context, id string) error {
	_, err := do[any](ctx, c, call{method: http.MethodDelete, path: sourcesPath + "/" + url.PathEscape(id)})
	return err
}

// Point is a value of a series. Source is the name of the source. Timestamp is in ms since the epoch.
type Point struct {
	Source    string            `json:"source"`
	Metric    string            `json:"metric"`
	Timestamp int64             `json:"timestamp"`
	Value     float64           `json:"value"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// Series contains values of one series. Exactly one of Numbers and Words is set and has
// the length of Timestamps, which are in ms since the epoch.
type Series struct {
	SourceID   string
	Metric     string
	Tags       map[string]string
	Timestamps []int64
	Numbers    []float64
	Strings    []string
}

// MarshalJSON encodes the series in the format of the API, with one array of values.
func (s Series) MarshalJSON() ([]byte, error) {
	values := any(s.Numbers)
	if s.Numbers == nil {
		values = s.Strings
	}
	return json.Marshal(struct {
		SourceID   string            `json:"sourceId"`
		Metric     string            `json:"metric"`
		Tags       map[string]string `json:"tags,omitempty"`
		Timestamps []int64           `json:"timestamps"`
		Values     any               `json:"values"`
	}{s.SourceID, s.Metric, s.Tags, s.Timestamps, values}, json.Deterministic(true))
}

// Receipt is the answer to an ingest. Accepted points are durable.
type Receipt struct {
	Accepted   int         `json:"accepted"`
	Rejected   int         `json:"rejected"`
	Errors     []Rejection `json:"errors"`
	Checkpoint string      `json:"checkpoint"`

	Took time.Duration `json:"-"` // duration of the successful attempt
}

// Rejection is the reason why Count points were rejected. Field is that of the first of them.
type Rejection struct {
	Index  int    `json:"index"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// IngestPoints sends points as rows.
func (c *Client) IngestPoints(ctx context.Context, points []Point) (Receipt, error) {
	return c.ingest(ctx, struct {
		Precision string  `json:"precision"`
		Points    []Point `json:"points"`
	}{"ms", points})
}

// IngestSeries sends points as columns, which suits many points per series.
func (c *Client) IngestSeries(ctx context.Context, series []Series) (Receipt, error) {
	return c.ingest(ctx, struct {
		Precision string   `json:"precision"`
		Series    []Series `json:"series"`
	}{"ms", series})
}

func (c *Client) ingest(ctx context.Context, content any) (Receipt, error) {
	body, err := json.Marshal(content, json.Deterministic(true))
	if err != nil {
		return Receipt{}, fault.Wrap(err, fault.Malformed, "The points cannot be written as JSON")
	}
	return c.ingestCall(ctx, call{body: body})
}

// IngestBody sends a body in one of the formats of the API, uncompressed and unchecked.
func (c *Client) IngestBody(ctx context.Context, media string, body []byte) (Receipt, error) {
	return c.ingestCall(ctx, call{body: body, media: media, uncompressed: true})
}

// IngestLines sends points in line protocol, with times in nanoseconds. Their sources are created if they do not exist.
func (c *Client) IngestLines(ctx context.Context, lines []byte) (Receipt, error) {
	return c.ingestCall(ctx, call{body: lines, media: "text/plain"})
}

func (c *Client) ingestCall(ctx context.Context, request call) (Receipt, error) {
	request.method, request.path = http.MethodPost, ingestPath
	answer, err := do[Receipt](ctx, c, request)
	answer.Data.Took = answer.took
	return answer.Data, err
}

// Query selects series and how to read them. Zero fields are not sent.
type Query struct {
	SourceIDs   []string
	Metrics     []string
	From, To    string // RFC 3339, epoch ms, or relative such as -15m
	Aggregation []string
	Interval    string
	Latest      bool
	Checkpoint  string // wait until the points of that ingest are visible
	Limit       int    // series
}

// Result is one series in the answer to a query. Columns names the columns of the rows in
// Points; the first is the time in ms since the epoch.
type Result struct {
	SourceID   string            `json:"sourceId"`
	SourceName string            `json:"sourceName"`
	Metric     string            `json:"metric"`
	Unit       string            `json:"unit"`
	Tags       map[string]string `json:"tags"`
	Columns    []string          `json:"columns"`
	Points     [][]any           `json:"points"`
}

// Query reads series.
func (c *Client) Query(ctx context.Context, q Query) ([]Result, error) {
	answer, err := do[[]Result](ctx, c, call{method: http.MethodGet, path: queryPath, query: q.values()})
	return answer.Data, err
}

// WaitVisible waits until the points of an ingest are visible to queries or ctx ends. It
// retries like any other call while the server is unavailable.
func (c *Client) WaitVisible(ctx context.Context, checkpoint string) error {
	if _, err := c.api.WaitVisible(ctx, checkpoint); err != nil {
		return failure(ctx, http.MethodGet, queryPath, err)
	}
	return nil
}

func (q Query) values() url.Values {
	v := url.Values{"epoch": {"ms"}}
	v["sourceId"] = q.SourceIDs
	v["metric"] = q.Metrics
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("from", q.From)
	set("to", q.To)
	set("aggregation", strings.Join(q.Aggregation, ","))
	set("interval", q.Interval)
	set("checkpoint", q.Checkpoint)
	if q.Latest {
		v.Set("latest", "true")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Numbers returns the numbers of a column with their times. It skips rows without a number
// in the column (null or a string). The time is zero if the row has none.
func (r *Result) Numbers(column string) (times []time.Time, values []float64) {
	index := slices.Index(r.Columns, column)
	if index < 1 {
		return nil, nil
	}
	for _, row := range r.Points {
		if len(row) <= index {
			continue
		}
		value, ok := row[index].(float64)
		if !ok {
			continue
		}
		var timestamp time.Time
		if stamp, ok := row[0].(float64); ok {
			timestamp = time.UnixMilli(int64(stamp))
		}
		times, values = append(times, timestamp), append(values, value)
	}
	return times, values
}
