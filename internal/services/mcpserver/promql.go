package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/common/model"
)

const promqlPath = "/prometheus/api/v1/"

var promqlTool = &mcp.Tool{
	Name: "promql", Title: "Evaluate PromQL", Annotations: readOnly(),
	Description: "Evaluate an expression of PromQL, of Prometheus, over the series of numbers: at one time, or with " +
		"start over a range. Labels are __name__ (the metric), source (the name of the source) and the tags of the " +
		"source and the series. Times in results are seconds since 1970, values are texts.",
}

type promqlInput struct {
	Query string `json:"query" jsonschema:"expression such as sum by (source) (rate(requests_total[5m]))"`
	Time  string `json:"time,omitempty" jsonschema:"time of the evaluation: RFC 3339 or relative such as -15m; default now"`
	Start string `json:"start,omitempty" jsonschema:"start of a range, in the same formats"`
	End   string `json:"end,omitempty" jsonschema:"end of the range, in the same formats; default now"`
	Step  string `json:"step,omitempty" jsonschema:"time between two points of a range such as 5m; default: such that there are about 50"`
	Limit int    `json:"limit,omitempty" jsonschema:"number of series, default 10, at most 50"`
}

func (c *client) promql(ctx context.Context, in promqlInput) (any, error) {
	path, query, err := in.request(time.Now())
	if err != nil {
		return nil, err
	}
	r, err := c.call(ctx, http.MethodGet, promqlPath+path+"?"+query.Encode(), nil, nil, readPrometheus)
	if err != nil {
		return nil, err
	}
	a, err := listAnswer(r, 0, uncited)
	if err != nil {
		return nil, err
	}
	if a.Next != nil { // there are no pages
		a.Next = nil
		a.Notes = append(a.Notes, "There are more series: aggregate them, or select fewer by labels.")
	}
	return a, nil
}

// request returns the path and the parameters of the request.
func (in *promqlInput) request(now time.Time) (path string, query url.Values, err error) {
	query = url.Values{"query": {in.Query}, "limit": {strconv.Itoa(clampLimit(in.Limit))}}
	at := func(name, text string) (t time.Time) {
		if err == nil {
			t, err = parseTime(name, text, now)
		}
		return t
	}
	if in.Start == "" {
		if in.End != "" || in.Step != "" {
			return "", nil, badArgument("start", "is required with end and step")
		}
		query.Set("time", formatSeconds(at("time", in.Time)))
		return "query", query, err
	}
	if in.Time != "" {
		return "", nil, badArgument("time", "cannot be combined with start")
	}
	start, end := at("start", in.Start), at("end", in.End)
	query.Set("start", formatSeconds(start))
	query.Set("end", formatSeconds(end))
	step := max(end.Sub(start)/defaultQueryPoints, time.Second).Truncate(time.Second)
	query.Set("step", cmp.Or(in.Step, strconv.Itoa(int(step.Seconds()))))
	return "query_range", query, err
}

// parseTime parses a time in RFC 3339, or relative to now; "" is now.
func parseTime(name, text string, now time.Time) (time.Time, error) {
	if text == "" || text == "now" {
		return now, nil
	}
	if ago, relative := strings.CutPrefix(text, "-"); relative {
		if d, err := model.ParseDuration(ago); err == nil {
			return now.Add(-time.Duration(d)), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, badArgument(name, "must be a time in RFC 3339, or relative such as -15m or -7d")
}

func formatSeconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

// badArgument returns the error for an argument of a tool, in the form of the API's errors.
func badArgument(field, reason string) error {
	return &problem{
		Code: "VALIDATION_ERROR", Message: field + ": " + reason, Status: http.StatusBadRequest,
		Details: map[string]any{"field": field, "reason": reason},
	}
}

// readPrometheus reads a response in the format of Prometheus. The data are a list of series.
func readPrometheus(answer *http.Response) (*response, error) {
	text, err := readBody(answer)
	if err != nil {
		return nil, err
	}
	var got struct {
		Status, ErrorType, Error string
		Warnings                 []string
		Data                     struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, fmt.Errorf("the server's answer, with status %d, is not that of Prometheus", answer.StatusCode)
	}
	r := &response{Data: got.Data.Result, RequestID: answer.Header.Get("X-Request-Id")}
	switch {
	case answer.StatusCode >= http.StatusBadRequest && got.Error == "":
		return nil, fmt.Errorf("the server answered with status %d", answer.StatusCode)
	case answer.StatusCode >= http.StatusBadRequest:
		p := &problem{Code: got.ErrorType, Message: got.Error, Status: answer.StatusCode, RequestID: r.RequestID}
		p.RetryAfter, _ = strconv.Atoi(answer.Header.Get("Retry-After"))
		return nil, p
	case len(r.Data) == 0:
		return nil, errors.New("the server's answer has no result")
	}
	if kind := got.Data.ResultType; kind == "scalar" || kind == "string" {
		if r.Data, err = json.Marshal([]any{map[string]any{"value": got.Data.Result}}); err != nil {
			return nil, err
		}
	}
	r.Warnings = got.Warnings
	return r, nil
}
