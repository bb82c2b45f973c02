package mcpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prometheus answers each request with a status and a body.
type prometheus struct {
	status int
	body   string
}

func (p *prometheus) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: p.status, Header: http.Header{"X-Request-Id": {"req_1"}, "Retry-After": {"3"}},
		Body: io.NopCloser(strings.NewReader(p.body)),
	}, nil
}

func evaluate(t *testing.T, status int, body string) (*answer, error) {
	t.Helper()
	c := &client{options: Options{Transport: &prometheus{status, body}, URL: "http://x"}, slots: make(chan struct{}, 1)}
	result, err := c.promql(t.Context(), promqlInput{Query: "m"})
	a, _ := result.(*answer)
	return a, err
}

func TestResultsOfPromQLAreCut(t *testing.T) {
	var series []string
	for i := range 50 {
		var points []string
		for at := range 51 {
			points = append(points, fmt.Sprintf(`[%d,"%d.5"]`, 1772323200+at, at))
		}
		series = append(series, fmt.Sprintf(`{"metric":{"i":"%d"},"values":[%s]}`, i, strings.Join(points, ",")))
	}
	a, err := evaluate(t, http.StatusOK, `{"status":"success","warnings":["results truncated"],"data":`+
		`{"resultType":"matrix","result":[`+strings.Join(series, ",")+`]}}`)
	require.NoError(t, err)
	require.Nil(t, a.Next, "there are no pages")
	require.Equal(t, "req_1", a.RequestID)
	require.Equal(t, []string{
		"results truncated", "There are more series: aggregate them, or select fewer by labels.",
	}, a.Notes)
	text, err := json.Marshal(a.Results)
	require.NoError(t, err)
	require.Less(t, len(text), maxAnswerBytes+100)
	require.Greater(t, len(a.Results), 5)
}

func TestErrorsOfPromQLKeepTheirText(t *testing.T) {
	_, err := evaluate(t, http.StatusServiceUnavailable, `{"status":"error","errorType":"timeout","error":"too long"}`)
	var p *problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, problem{
		Code: "timeout", Message: "too long", Status: http.StatusServiceUnavailable, RetryAfter: 3, RequestID: "req_1",
	}, *p)
	for body, want := range map[string]string{
		"<html>": "is not that of Prometheus", `{"status":"success"}`: "has no result",
	} {
		_, err := evaluate(t, http.StatusOK, body)
		require.ErrorContains(t, err, want)
	}
}
