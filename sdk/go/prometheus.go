package livegraph

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Prometheus evaluates queries in PromQL, in the format of Prometheus.
type Prometheus struct{ t *transport }

// PromOptions are options of a query in PromQL.
type PromOptions struct {
	// Time is the time of an instant query. The default is now.
	Time time.Time
	// Timeout is shorter than that of the server.
	Timeout time.Duration
	// Limit is the maximum number of series in the result.
	Limit int
}

// PromRange is the range of a query. It includes the end, and has at most 11,000 steps.
type PromRange struct {
	Start, End time.Time
	Step       time.Duration
}

// PromResult is the result of a query in PromQL.
type PromResult struct {
	Warnings []string
	Infos    []string
	// Type is vector, matrix, scalar or string. The method with this name returns the values.
	Type string
	raw  json.RawMessage
}

// PromPoint is a time with a value. The value may be NaN or infinite.
type PromPoint struct {
	Time  time.Time
	Value float64
}

// PromSample is a series of a vector, with its value.
type PromSample struct {
	Labels map[string]string `json:"metric"`
	Point  PromPoint         `json:"value"`
	// Histogram is nil, or the value is a native histogram, and Point is empty.
	Histogram *PromHistogram `json:"histogram"`
}

// PromSeries is a series of a matrix, with its values.
type PromSeries struct {
	Labels map[string]string `json:"metric"`
	Points []PromPoint       `json:"values"`
	// Histograms are the values that are native histograms.
	Histograms []PromHistogram `json:"histograms"`
}

// PromHistogram is a time with a native histogram.
type PromHistogram struct {
	Time       time.Time
	Count, Sum float64
	Buckets    []PromBucket // those with observations, in ascending order
}

// PromBucket is a bucket of a native histogram.
type PromBucket struct {
	Lower, Upper                   float64
	LowerInclusive, UpperInclusive bool
	Count                          float64
}

// UnmarshalJSON reads an array of a time in seconds and an object.
func (h *PromHistogram) UnmarshalJSON(text []byte) error {
	var seconds float64
	var fields struct {
		Count, Sum string
		Buckets    []PromBucket
	}
	if err := json.Unmarshal(text, &[]any{&seconds, &fields}); err != nil {
		return err
	}
	h.Time, h.Buckets = promTime(seconds), fields.Buckets
	return parseNumbers([]string{fields.Count, fields.Sum}, &h.Count, &h.Sum)
}

// parseNumbers parses the texts of numbers, such as NaN, into the targets.
func parseNumbers(texts []string, targets ...*float64) (err error) {
	for i, text := range texts {
		if *targets[i], err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("a histogram of PromQL: %w", err)
		}
	}
	return nil
}

// UnmarshalJSON reads an array of the kind of the bounds, both bounds and the count.
func (b *PromBucket) UnmarshalJSON(text []byte) error {
	var bounds int
	var numbers [3]string
	if err := json.Unmarshal(text, &[]any{&bounds, &numbers[0], &numbers[1], &numbers[2]}); err != nil {
		return err
	}
	b.LowerInclusive, b.UpperInclusive = bounds == 1 || bounds == 3, bounds == 0 || bounds == 3
	return parseNumbers(numbers[:], &b.Lower, &b.Upper, &b.Count)
}

// UnmarshalJSON reads an array of a time in seconds and a value as text.
func (p *PromPoint) UnmarshalJSON(text []byte) error {
	var seconds float64
	var value string
	if err := json.Unmarshal(text, &[]any{&seconds, &value}); err != nil {
		return err
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return fmt.Errorf("the value of a point of PromQL: %w", err)
	}
	p.Time, p.Value = promTime(seconds), number
	return nil
}

// promTime returns a time in seconds, which are exact to the millisecond.
func promTime(seconds float64) time.Time {
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()
}

// Vector returns the result of type vector.
func (r *PromResult) Vector() ([]PromSample, error) { return promValues[[]PromSample](r, "vector") }

// Matrix returns the result of type matrix.
func (r *PromResult) Matrix() ([]PromSeries, error) { return promValues[[]PromSeries](r, "matrix") }

// Scalar returns the result of type scalar.
func (r *PromResult) Scalar() (PromPoint, error) { return promValues[PromPoint](r, "scalar") }

// Text returns the result of type string.
func (r *PromResult) Text() (string, error) {
	pair, err := promValues[[2]any](r, "string")
	text, _ := pair[1].(string)
	return text, err
}

func promValues[T any](r *PromResult, kind string) (values T, err error) {
	if r.Type != kind {
		return values, &ResponseError{Message: "the result of the query has the type " + r.Type + ", not " + kind}
	}
	if err := json.Unmarshal(r.raw, &values); err != nil {
		return values, &ResponseError{Message: "the result of the query cannot be read", Err: err}
	}
	return values, nil
}

// Query evaluates an expression at one time.
func (p *Prometheus) Query(ctx context.Context, expression string, options PromOptions) (*PromResult, error) {
	form := options.values(expression)
	if !options.Time.IsZero() {
		form.Set("time", options.Time.Format(time.RFC3339Nano))
	}
	return p.evaluate(ctx, promQuery, form)
}

// QueryRange evaluates an expression at each step of a range. Time of the options has no effect.
func (p *Prometheus) QueryRange(
	ctx context.Context, expression string, within PromRange, options PromOptions,
) (*PromResult, error) {
	form := options.values(expression)
	form.Set("start", within.Start.Format(time.RFC3339Nano))
	form.Set("end", within.End.Format(time.RFC3339Nano))
	form.Set("step", seconds(within.Step))
	return p.evaluate(ctx, promQueryRange, form)
}

func (o *PromOptions) values(expression string) url.Values {
	form := url.Values{"query": {expression}}
	if o.Timeout > 0 {
		form.Set("timeout", seconds(o.Timeout))
	}
	setNumber(form, "limit", o.Limit)
	return form
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// evaluate sends a form, because expressions can be longer than a URL.
func (p *Prometheus) evaluate(ctx context.Context, o operation, form url.Values) (*PromResult, error) {
	r := o.request()
	r.Body, r.Header = []byte(form.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	response, err := p.t.send(ctx, r)
	if err != nil {
		return nil, err
	}
	var content struct {
		Status          string
		Warnings, Infos []string
		Data            struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(response.Body, &content); err != nil || content.Status != "success" {
		return nil, newResponseError(r, "the response is not a result of Prometheus", err)
	}
	return &PromResult{
		Warnings: content.Warnings, Infos: content.Infos, Type: content.Data.ResultType, raw: content.Data.Result,
	}, nil
}
