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
	// largestPage is the maximum number of items of a list that the server gives at once.
	largestPage = 100
	// leastWait is how long a server that is asked to wait for a checkpoint waits
	// at least before it gives up.
	leastWait = 200 * time.Millisecond
)

// Metric describes a metric of a source.
type Metric struct {
	Name        string `json:"name"`
	Unit        string `json:"unit,omitempty"`
	Description string `json:"description,omitempty"`
}

// Source is a data source, as it is asked for and as it is given.
type Source struct {
	ID              string            `json:"id,omitempty"`
	Name            string            `json:"name"`
	Description     string            `json:"description,omitempty"`
	NodeID          string            `json:"nodeId,omitempty"` // of the graph; "" for none
	Metrics         []Metric          `json:"metrics,omitempty"`
	Tags            map[string]string `json:"tags,omitempty"`
	IntervalSeconds float64           `json:"intervalSeconds,omitzero"`
}

// CreateSource creates a source. A name that is taken is fault.Conflict.
func (c *Client) CreateSource(ctx context.Context, s Source) (Source, error) {
	body, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return Source{}, fault.Wrap(err, fault.Malformed, "The source cannot be written as JSON")
	}
	answer, err := do[Source](ctx, c, call{method: http.MethodPost, path: sourcesPath, body: body})
	return answer.Data, err
}

// SourceByName finds the source of exactly this name; none is fault.NotFound.
func (c *Client) SourceByName(ctx context.Context, name string) (Source, error) {
	for offset := 0; ; offset += largestPage {
		// The filter finds names that contain this one, in any case.
		query := url.Values{"name": {name}, "limit": {strconv.Itoa(largestPage)}, "offset": {strconv.Itoa(offset)}}
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

// LinkSource reports which node of the graph a source belongs to. A source that is
// not there is fault.NotFound.
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

// EnsureSource returns the source of this name, made now or there before.
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

// DeleteSource deletes a source and its points. One that is gone already is
// fault.NotFound; the key needs the scope admin.
func (c *Client) DeleteSource(ctx context.Context, id string) error {
	_, err := do[any](ctx, c, call{method: http.MethodDelete, path: sourcesPath + "/" + url.PathEscape(id)})
	return err
}

// Point is one value of one series. Timestamp is in ms since the epoch.
type Point struct {
	SourceID  string            `json:"sourceId"`
	Metric    string            `json:"metric"`
	Timestamp int64             `json:"timestamp"`
	Value     float64           `json:"value"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// Series is many values of one series. Exactly one of Numbers and Words is set
// and is as long as Timestamps, which are in ms since the epoch.
type Series struct {
	SourceID   string
	Metric     string
	Tags       map[string]string
	Timestamps []int64
	Numbers    []float64
	Words      []string
}

// MarshalJSON writes the series as the interface has it: one array of values.
func (s Series) MarshalJSON() ([]byte, error) {
	values := any(s.Numbers)
	if s.Numbers == nil {
		values = s.Words
	}
	return json.Marshal(struct {
		SourceID   string            `json:"sourceId"`
		Metric     string            `json:"metric"`
		Tags       map[string]string `json:"tags,omitempty"`
		Timestamps []int64           `json:"timestamps"`
		Values     any               `json:"values"`
	}{s.SourceID, s.Metric, s.Tags, s.Timestamps, values}, json.Deterministic(true))
}

// Receipt is what the server says of an ingest: all Accepted points are safe.
type Receipt struct {
	Accepted   int         `json:"accepted"`
	Rejected   int         `json:"rejected"`
	Errors     []Rejection `json:"errors"`
	Checkpoint string      `json:"checkpoint"`

	Took time.Duration `json:"-"` // of the attempt that was answered
}

// Rejection says why Count points were refused; Field is of the first of them.
type Rejection struct {
	Index  int    `json:"index"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// IngestPoints sends points row by row.
func (c *Client) IngestPoints(ctx context.Context, points []Point) (Receipt, error) {
	return c.ingest(ctx, struct {
		Precision string  `json:"precision"`
		Points    []Point `json:"points"`
	}{"ms", points})
}

// IngestSeries sends points by column, the shape for many points of a series.
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

// IngestBody sends a body that the caller has written in one of the formats of
// the interface, as it is: uncompressed, unchecked.
func (c *Client) IngestBody(ctx context.Context, media string, body []byte) (Receipt, error) {
	return c.ingestCall(ctx, call{body: body, media: media, asIs: true})
}

func (c *Client) ingestCall(ctx context.Context, request call) (Receipt, error) {
	request.method, request.path = http.MethodPost, ingestPath
	answer, err := do[Receipt](ctx, c, request)
	answer.Data.Took = answer.took
	return answer.Data, err
}

// Query selects series and says how to read them. Zero fields are not sent.
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

// Result is one series of a query's answer. Each row of Points begins with the
// time in ms since the epoch; Columns names what is where.
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

// nobody is a source that does not exist: a query of it finds nothing, at once.
const nobody = "00000000-0000-0000-0000-000000000000"

// WaitVisible returns when the points of an ingest are visible to queries. It
// waits until ctx ends; a server that is unavailable is tried as any call.
func (c *Client) WaitVisible(ctx context.Context, checkpoint string) error {
	request := call{method: http.MethodGet, path: queryPath, query: url.Values{
		"checkpoint": {checkpoint}, "sourceId": {nobody}, "limit": {"1"},
	}}
	_, err := attempts(ctx, c.retry, func() (envelope[[]Result], error) {
		for {
			asked := time.Now()
			answer, err := once[[]Result](ctx, c, request)
			// The server waits for a while and then has us ask again. To do so at
			// once is what it is for, unless the answer came at once, too.
			if !fault.Is(err, fault.Timeout) || time.Since(asked) < leastWait || ctx.Err() != nil {
				return answer, err
			}
		}
	})
	return err
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

// Numbers returns a column's numbers with their times, leaving out rows that have
// none there (null, or a word). The time of a row without one is zero.
func (r *Result) Numbers(column string) (times []time.Time, values []float64) {
	at := slices.Index(r.Columns, column)
	if at < 1 {
		return nil, nil
	}
	for _, row := range r.Points {
		if len(row) <= at {
			continue
		}
		value, ok := row[at].(float64)
		if !ok {
			continue
		}
		var when time.Time
		if stamp, ok := row[0].(float64); ok {
			when = time.UnixMilli(int64(stamp))
		}
		times, values = append(times, when), append(values, value)
	}
	return times, values
}
