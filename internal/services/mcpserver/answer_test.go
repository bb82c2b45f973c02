package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// itemsOf returns random items of a list, some of them large.
func itemsOf(t *rapid.T) []map[string]any {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) map[string]any {
		item := map[string]any{"node": map[string]any{"id": rapid.StringMatching(`[a-f0-9]{4}`).Draw(t, "id"), "name": "n"}}
		letter := rapid.SampledFrom([]string{"a", "é", "日"}).Draw(t, "letter")
		item["text"] = strings.Repeat(letter, rapid.IntRange(0, 3000).Draw(t, "n"))
		if rapid.IntRange(0, 5).Draw(t, "many") == 0 {
			list := make([]any, rapid.IntRange(0, 3000).Draw(t, "length"))
			for i := range list {
				list[i] = map[string]any{"value": 1.5}
			}
			item["list"] = list
		}
		return item
	}), 0, 60).Draw(t, "items")
}

func TestAnswersAreSmallAndTheirPagesHaveAllItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := itemsOf(t)
		offset := 0
		for range len(items) + 1 {
			data, err := json.Marshal(items[offset:])
			require.NoError(t, err)
			a, err := listAnswer(&response{Data: data}, offset, citeNode)
			require.NoError(t, err)
			size := 0
			for i, result := range a.Results {
				size += len(result)
				require.True(t, utf8.Valid(result))
				var got struct {
					Node struct{ ID string }
				}
				require.NoError(t, json.Unmarshal(result, &got))
				if got.Node.ID != "" { // else only its beginning
					require.Equal(t, items[offset+i]["node"].(map[string]any)["id"], got.Node.ID)
				}
			}
			require.LessOrEqual(t, size, maxAnswerBytes)
			require.LessOrEqual(t, len(a.Citations), len(a.Results))
			if a.Next == nil {
				require.Equal(t, len(items), offset+len(a.Results))
				return
			}
			require.Equal(t, offset+len(a.Results), a.Next["offset"])
			offset = a.Next["offset"].(int)
		}
		require.Fail(t, "the pages do not end")
	})
}

func TestALongSeriesIsContinuedAtItsFirstMissingPoint(t *testing.T) {
	points := make([]any, 2000)
	for i := range points {
		points[i] = []any{"2026-11-21T07:40:08Z", float64(i)}
	}
	series := map[string]any{"points": points}
	from := fewerPoints(series, 1000)
	require.Equal(t, "2026-11-21T07:40:08Z", from)
	require.Less(t, len(series["points"].([]any)), 100)
	require.Empty(t, fewerPoints(map[string]any{"points": points[:2]}, 1000))
}

// answering is a transport whose answers are all the same.
type answering struct {
	status int
	body   string
}

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Retry-After": {"7"}}, Body: io.NopCloser(strings.NewReader(a.body)),
	}, nil
}

func newClient(transport http.RoundTripper) *client {
	return &client{options: Options{Transport: transport, URL: "http://livegraph"}, slots: make(chan struct{}, 1)}
}

func TestErrorsOfRoutesReachTheModel(t *testing.T) {
	c := newClient(answering{
		429, `{"error":{"code":"RATE_LIMITED","message":"Slow <down>","details":{"limit":5}},"requestId":"req_1"}`,
	})
	_, err := c.series(t.Context(), seriesInput{})
	text, marshalErr := json.Marshal(failedResult(err))
	require.NoError(t, marshalErr)
	for _, part := range []string{"RATE_LIMITED", "retryAfterSeconds", "req_1", "limit"} {
		require.Contains(t, string(text), part)
	}
	for _, body := range []string{"", "<html>", `{"success":false}`, strings.Repeat("x", maxResponseBytes+1)} {
		_, err := newClient(answering{502, body}).series(t.Context(), seriesInput{})
		require.Error(t, err)
	}
	limited := newClient(answering{200, `{"data":[]}`})
	limited.options.OneRequest = true
	limited.calls.Store(1)
	_, err = limited.series(context.Background(), seriesInput{})
	require.NoError(t, err)
	_, err = limited.series(context.Background(), seriesInput{})
	require.ErrorContains(t, err, "Too many calls")
}

func TestAnAnswerToAQuestionIsCompleteAndCited(t *testing.T) {
	sentence := strings.Repeat("é", 600)
	data := map[string]any{
		"answer": strings.Repeat(sentence+" [1] ", 3), "sentences": []any{map[string]any{"text": sentence, "citation": 0}},
		"citations": []any{map[string]any{"nodeId": "n", "name": "Pump 7", "score": 1}},
	}
	ask := func(data any) *answer {
		t.Helper()
		body, err := json.Marshal(map[string]any{"data": data, "meta": map[string]any{"total": 9, "hasMore": true}})
		require.NoError(t, err)
		got, err := newClient(answering{200, string(body)}).answerQuestion(t.Context(), answerInput{Query: "a"})
		require.NoError(t, err)
		return got.(*answer)
	}
	a := ask(data)
	require.Empty(t, a.Cut)
	require.Contains(t, string(a.Result), data["answer"])
	require.Equal(t, []citation{{ID: "n", Name: "Pump 7", URI: nodeURI + "n"}}, a.Citations)
	require.Nil(t, a.Next)
	require.Empty(t, a.Notes)

	a = ask(map[string]any{"answer": nil, "sentences": []any{}, "citations": []any{}})
	require.Equal(t, []string{"No sentence answers the question."}, a.Notes)
	require.Empty(t, a.Citations)

	data["answer"] = strings.Repeat(sentence+" [1] ", 20)
	a = ask(data)
	require.LessOrEqual(t, len(a.Result), maxAnswerBytes)
	require.Equal(t, "result.answer", a.Cut[0].Path)
}

// FuzzAnswer checks that no answer of a server causes a panic, and that the answers of tools are bounded.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"data":[{"node":{"id":"a","name":"b"},"score":1e400}],"meta":{"total":1,"hasMore":true}}`, `{"data":null}`,
		`{"data":{"id":1}}`, `{"data":[null]}`, `{"data":[{"points":[[null],[1,2],{}]}]}`, `{"data":[{"points":{}}]}`,
		`{"data":[{"sourceId":"s","metric":"m","tags":{"b":"","a":""},"count":1},{"sourceId":"s"}],"meta":{"total":-1}}`,
		`{"data":{"answer":"a [1]","citations":[{"nodeId":"n","name":7},{"nodeId":null},5]}}`, `{"data":{"citations":{}}}`,
		`[]`, `{"data":[[]]}`, `{"data":{"node":[],"properties":[]}}`,
	} {
		f.Add([]byte(body), 200)
		f.Add([]byte(body), 500)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		c := newClient(answering{status, string(body)})
		for _, call := range []func() (any, error){
			func() (any, error) { return c.search(t.Context(), searchInput{}) },
			func() (any, error) { return c.answerQuestion(t.Context(), answerInput{}) },
			func() (any, error) { return c.node(t.Context(), nodeInput{ID: "x"}) },
			func() (any, error) { return c.node(t.Context(), nodeInput{ID: "x", Text: "description", From: 5}) },
			func() (any, error) { return c.execute(t.Context(), commandInput{}) },
			func() (any, error) { return c.query(t.Context(), queryInput{}) },
			func() (any, error) { return c.readGraphSchema(t.Context()) },
			func() (any, error) { return c.readLiveDataSchema(t.Context()) },
		} {
			answer, err := call()
			if err != nil {
				failedResult(err)
				continue
			}
			text, err := encode(answer)
			require.NoError(t, err)
			require.LessOrEqual(t, len(bytes.TrimSpace(text)), 4*maxAnswerBytes)
		}
	})
}
