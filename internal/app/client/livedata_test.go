package client

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

func TestASourceThatIsThereIsFoundByItsExactName(t *testing.T) {
	names := []string{}
	for i := range 150 {
		names = append(names, fmt.Sprintf("host/cpu-%d", i))
	}
	names = append(names, "HOST/CPU", "host/cpu")
	posts := 0
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts++
			answerError(w, 409, "CONFLICT")
			return
		}
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		var page []string
		for _, name := range names[offset:min(offset+100, len(names))] {
			page = append(page, fmt.Sprintf(
				`{"id":"id of %s","name":%q,"unit":null,"metrics":null,"intervalSeconds":0.5}`, name, name,
			))
		}
		_, _ = fmt.Fprintf(w, `{"success":true,"data":[%s],"meta":{"total":%d,"limit":100,"offset":%d,"hasMore":%t}}`,
			strings.Join(page, ","), len(names), offset, offset+100 < len(names))
	})
	source, created, err := c.EnsureSource(t.Context(), Source{Name: "host/cpu"})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, "id of host/cpu", source.ID)
	require.Equal(t, 1, posts)
	_, err = c.SourceByName(t.Context(), "host/cp")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestANewSourceIsCreated(t *testing.T) {
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		var s map[string]any
		if json.UnmarshalRead(r.Body, &s) != nil || s["intervalSeconds"] != 1.0 || s["name"] != "a/b" {
			answerError(w, 400, "VALIDATION_ERROR")
			return
		}
		if _, sent := s["id"]; sent {
			answerError(w, 400, "VALIDATION_ERROR")
			return
		}
		answerOK(w, 201, `{"id":"7","name":"a/b","status":"never","version":1}`)
	})
	source, created, err := c.EnsureSource(t.Context(), Source{
		Name: "a/b", IntervalSeconds: 1, Metrics: []Metric{{Name: "m", Unit: "bytes"}},
	})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, "7", source.ID)
}

func TestSeriesOfNumbersAndOfWordsAreColumns(t *testing.T) {
	numbers, err := json.Marshal(Series{SourceID: "s", Metric: "m", Timestamps: []int64{1, 2}, Numbers: []float64{0.5, 2}})
	require.NoError(t, err)
	require.JSONEq(t, `{"sourceId":"s","metric":"m","timestamps":[1,2],"values":[0.5,2]}`, string(numbers))
	words, err := json.Marshal(Series{
		SourceID: "s", Metric: "m", Tags: map[string]string{"a": "b"}, Timestamps: []int64{1}, Strings: []string{"sun"},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"sourceId":"s","metric":"m","tags":{"a":"b"},"timestamps":[1],"values":["sun"]}`, string(words))
}

func TestAQueryAsksOnlyForWhatIsSet(t *testing.T) {
	require.Equal(t, "epoch=ms", Query{}.values().Encode())
	full := Query{
		SourceIDs: []string{"a", "b"}, Metrics: []string{"m"}, From: "-15m", To: "now",
		Aggregation: []string{"avg", "max"}, Interval: "10s", Latest: true, Checkpoint: "c/p=", Limit: 100,
	}
	values, err := url.ParseQuery(full.values().Encode())
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"epoch": {"ms"}, "sourceId": {"a", "b"}, "metric": {"m"}, "from": {"-15m"}, "to": {"now"}, "aggregation": {"avg,max"},
		"interval": {"10s"}, "latest": {"true"}, "checkpoint": {"c/p="}, "limit": {"100"},
	}, values)
}

func TestResultsAreReadByColumn(t *testing.T) {
	c := newTestClient(t, quick, func(w http.ResponseWriter, _ *http.Request) {
		answerOK(w, 200, `[{"sourceId":"s","sourceName":"n","metric":"m","unit":null,"tags":{},
			"columns":["timestamp","avg","max"],
			"points":[[1767225600000,1.5,2],[1767225601000,null,3],[1767225602000,2.5,"x"],[null,4,5],[1]]}]`)
	})
	results, err := c.Query(t.Context(), Query{})
	require.NoError(t, err)
	require.Len(t, results, 1)
	times, values := results[0].Numbers("avg")
	require.Equal(t, []float64{1.5, 2.5, 4}, values)
	require.Equal(t, time.UnixMilli(1767225600000), times[0])
	require.True(t, times[2].IsZero())
	_, values = results[0].Numbers("max")
	require.Equal(t, []float64{2, 3, 5}, values)
	_, values = results[0].Numbers("min")
	require.Empty(t, values)
	_, values = results[0].Numbers("timestamp")
	require.Empty(t, values)
}

func TestABodyIsSentAsItIs(t *testing.T) {
	body := strings.Repeat("cpu value=1\n", 1000)
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err != nil || string(payload) != body || r.Header.Get("Content-Type") != "text/plain" ||
			r.Header.Get("Content-Encoding") != "" {
			answerError(w, 400, "VALIDATION_ERROR")
			return
		}
		answerOK(w, 201, `{"accepted":1000,"rejected":0,"errors":[],"checkpoint":"cp"}`)
	})
	receipt, err := c.IngestBody(t.Context(), "text/plain", []byte(body))
	require.NoError(t, err)
	require.Equal(t, 1000, receipt.Accepted)
}

func TestASourceIsDeleted(t *testing.T) {
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete || r.URL.Path != "/api/live-data/sources/1" {
			answerError(w, 404, "NOT_FOUND")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	require.NoError(t, c.DeleteSource(t.Context(), "1"))
	require.True(t, fault.Is(c.DeleteSource(t.Context(), "2"), fault.NotFound))
}

func TestAWaitForPointsOutlivesThatOfTheServer(t *testing.T) {
	requests := 0
	c := newTestClient(t, Retry{First: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("checkpoint") != "cp" {
			answerError(w, 400, "VALIDATION_ERROR")
			return
		}
		if requests++; requests < 3 {
			time.Sleep(250 * time.Millisecond)
			w.Header().Set("Retry-After", "1")
			answerError(w, 504, "INTERNAL_ERROR")
			return
		}
		answerOK(w, 200, `[]`)
	})
	require.NoError(t, c.WaitVisible(t.Context(), "cp"))
	require.Equal(t, 3, requests)
	require.True(t, fault.Is(c.WaitVisible(t.Context(), "another"), fault.Malformed))
}
