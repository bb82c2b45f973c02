package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

const answerPath = "/api/rag/answer"

// foundAnswer is the data of the response to a question.
type foundAnswer struct {
	Answer    *string
	Sentences []struct {
		Text                 string
		Citation, Start, End int
		Score                float64
	}
	Citations []struct {
		NodeID, Name, EntityType, SourceURL string
		Document                            *struct {
			ID, ExternalID, Title string
			Page                  int
		}
		Score    float64
		LiveData *[]struct{ SourceName, Metric string }
	}
}

// answerRefusals returns bodies that are invalid for questions. Questions have no pages.
func answerRefusals() []refusal {
	shared := slices.DeleteFunc(append(searchRefusals(), hybridRefusals()...), func(r refusal) bool {
		return r.field == "offset"
	})
	return append(
		shared,
		refusal{`{"query":"a","offset":0}`, 400, "offset"},
		refusal{`{"query":"a","includeContent":true}`, 400, "includeContent"},
		refusal{`{"query":"a","groupBy":"document"}`, 400, "groupBy"},
		refusal{`{"query":"a","explain":true}`, 400, "explain"},
		refusal{`{"query":"a","includeEdges":true}`, 400, "includeEdges"},
		refusal{`{"query":"a","maxSentences":"3"}`, 400, "maxSentences"},
		refusal{`{"query":"a","maxSentences":1.5}`, 400, "maxSentences"},
		refusal{`{"query":"a","maxSentences":null}`, 400, "maxSentences"},
		refusal{`{"query":"a","maxSentences":0}`, 422, "maxSentences"},
		refusal{`{"query":"a","maxSentences":11}`, 422, "maxSentences"},
		refusal{`{"query":"a","maxSentences":-9223372036854775808}`, 422, "maxSentences"},
	)
}

// ask sends a question that must be answered, and returns the answer and what is degraded.
func (s *searcher) ask(t testing.TB, q contract.Request) (foundAnswer, []string) {
	t.Helper()
	q.Method, q.Path = http.MethodPost, answerPath
	a := s.Do(t, q)
	found := decode[foundAnswer](t, a, http.StatusOK)
	var text []string
	for _, sentence := range found.Sentences {
		text = append(text, fmt.Sprintf("%s [%d]", sentence.Text, sentence.Citation+1))
		source := decode[struct{ Description string }](t, s.Do(t, contract.Request{
			Path: "/api/queries/nodes/" + found.Citations[sentence.Citation].NodeID, Key: q.Key, Workspace: q.Workspace,
		}), http.StatusOK)
		quoted := source.Description[sentence.Start:sentence.End]
		require.Equal(t, sentence.Text, strings.Join(strings.Fields(quoted), " "), "the position is that of the text")
	}
	if found.Answer == nil {
		require.Empty(t, found.Sentences)
		require.Empty(t, found.Citations)
	} else {
		require.Equal(t, strings.Join(text, " "), *found.Answer)
	}
	return found, a.Meta.Degraded
}

func TestAnswersQuoteSentencesAndCiteTheirNodes(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	ids := s.createPlant(t)
	for body, want := range map[string]string{
		`{"query":"Which bearing squeals?","maxSentences":1}`:      "Its bearing squeals. [1]",
		`{"query":"who sends postcards"}`:                          "Sends postcards from a red tower. [1]",
		`{"query":"walls of the building","weights":{"vector":0}}`: "A building with thick walls. [1]",
		`{"query":"walls of the building","weights":{"text":0}}`:   "A building with thick walls. [1]",
		`{"query":"what does Cooling keep","hops":1}`:              "Keeps the reactor below its limit of temperature. [1]",
	} {
		found, degraded := s.ask(t, contract.Request{Body: body})
		require.NotNil(t, found.Answer, body)
		require.True(t, strings.HasPrefix(*found.Answer, want), "%s: %s", body, *found.Answer)
		require.Empty(t, degraded)
	}
	found, _ := s.ask(t, contract.Request{Body: `{"query":"Which bearing squeals?","maxSentences":1,"limit":1}`})
	require.Len(t, found.Citations, 1)
	cited := found.Citations[0]
	require.Equal(t, []any{ids["Pump 7"], "Pump 7", "object", ""}, []any{
		cited.NodeID, cited.Name, cited.EntityType, cited.SourceURL,
	})
	require.Nil(t, cited.Document)
	require.Nil(t, cited.LiveData)
	require.Equal(t, 1.0, cited.Score)

	for _, body := range []string{
		`{"query":"?"}`, `{"query":"who"}`, `{"query":"quantum chromodynamics lattice"}`,
		`{"query":"Which bearing squeals?","properties":{"site":"nowhere"}}`,
		`{"query":"?","nodeIds":["` + ids["Pump 7"] + `"]}`,
	} {
		found, _ := s.ask(t, contract.Request{Body: body})
		require.Nil(t, found.Answer, body)
	}
	found, _ = s.ask(t, contract.Request{Body: `{"query":"cooling water","entityTypes":["process"]}`})
	for _, c := range found.Citations {
		require.Equal(t, "process", c.EntityType)
	}
	a := s.Do(t, contract.Request{Method: http.MethodPost, Path: answerPath, Body: `{"query":"Pump 7","limit":1}`})
	require.Equal(t, http.StatusOK, a.Status)
	require.True(t, a.Meta.HasMore, "there are results that were not read")
}

func TestAnswersCiteTheDocumentsOfPassages(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	filler := sentences(0, 40)
	results := s.put(t, documentInput{
		"externalId": "manual", "title": "Manual", "sourceUrl": "https://wiki.example.com/manual",
		"text": filler + "The gearbox oil is replaced every 2000 hours. " + filler + "Spare gaskets are in drawer nine.",
	})
	s.untilReady(t)
	found, _ := s.ask(t, contract.Request{Body: `{"query":"how often is gearbox oil replaced","maxSentences":1}`})
	require.Equal(t, "The gearbox oil is replaced every 2000 hours. [1]", *found.Answer)
	cited := found.Citations[0]
	require.NotEqual(t, results[0].ID, cited.NodeID, "it is a passage")
	require.Equal(t, results[0].ID, cited.Document.ID)
	require.Equal(t, "manual", cited.Document.ExternalID)
	require.Equal(t, "Manual", cited.Document.Title)
	require.Equal(t, "https://wiki.example.com/manual", cited.SourceURL)

	found, _ = s.ask(t, contract.Request{Body: `{"query":"gearbox oil and spare gaskets drawer","maxSentences":2}`})
	require.Equal(
		t, "The gearbox oil is replaced every 2000 hours. [1] Spare gaskets are in drawer nine. [2]", *found.Answer,
		"in the order of the document",
	)
}

func TestQuestionsThatBreakARuleAreRefusedAndNameTheField(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, (&contract.Search{WithoutIndexes: true}).Group)
	for _, r := range answerRefusals() {
		a := s.Do(t, contract.Request{Method: http.MethodPost, Path: answerPath, Body: r.body})
		require.Equal(t, r.status, a.Status, "%.100s: %s", r.body, a.Body)
		require.Equal(t, "VALIDATION_ERROR", a.Error.Code)
		if r.field != "" {
			require.Equal(t, r.field, a.Error.Details["field"], "%.100s", r.body)
		}
	}
}

func TestAnyTextIsAQuestion(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	s.createPlant(t)
	hostile := s.newDescribedNode(
		t, "", "", "object", "<b>\u202eName</b> [1]", "[1] <script>alert(1)</script> of the gantry. \u202e{{7*7}}", `{}`,
	)
	s.untilReady(t)
	for _, query := range anyTexts() {
		s.ask(t, contract.Request{Body: jsonOf(t, map[string]any{"query": query, "maxSentences": 10})})
	}
	found, _ := s.ask(t, contract.Request{Body: `{"query":"script of the gantry","maxSentences":1}`})
	require.Equal(t, hostile, found.Citations[0].NodeID)
	require.Equal(t, "[1] <script>alert(1)</script> of the gantry.", found.Sentences[0].Text, "as it is stored")
}

func TestAnswersAreOfOneWorkspace(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	mine := s.createPlant(t)
	other := s.NewWorkspace(t, apikey.Live)
	key := s.NewKey(t, []uuid.UUID{other}, request.Admin)
	theirs := s.newDescribedNode(t, key, other.String(), "object", "Pump 7", "Its bearing squeals at night.", `{}`)
	as := contract.Request{Body: `{"query":"which bearing squeals"}`, Key: key, Workspace: other.String()}
	s.searchUntil(t, contract.Request{
		Path: searchPath, Body: `{"query":"squeals"}`, Key: key, Workspace: other.String(),
	}, contains("Pump 7"))
	found, _ := s.ask(t, as)
	require.Equal(t, "Its bearing squeals at night. [1]", *found.Answer)
	require.Equal(t, theirs, found.Citations[0].NodeID)
	found, _ = s.ask(t, contract.Request{Body: as.Body})
	require.Equal(t, mine["Pump 7"], found.Citations[0].NodeID)
	require.NotContains(t, *found.Answer, "night")
	as.Body = `{"query":"bearing of the northern loop","nodeIds":["` + mine["Pump 7"] + `"]}`
	found, _ = s.ask(t, as)
	for _, c := range found.Citations {
		require.Equal(t, theirs, c.NodeID)
	}
	s.mustExecute(t, deleteNode(mine["Pump 7"]))
	found, _ = s.ask(t, contract.Request{Body: `{"query":"which bearing squeals"}`})
	for _, c := range found.Citations {
		require.NotEqual(t, mine["Pump 7"], c.NodeID, "it is deleted")
	}
}

func TestWithoutTheEmbedderAnswersAreChosenByWords(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	s.createPlant(t)
	s.Embedder.(*contract.SwitchableEmbedder).Unavailable.Store(true)
	found, degraded := s.ask(t, contract.Request{Body: `{"query":"Which bearing squeals?","maxSentences":1}`})
	require.NotNil(t, found.Answer)
	require.Equal(t, "Its bearing squeals. [1]", *found.Answer)
	require.Equal(t, []string{"vector"}, degraded)
	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: answerPath, Body: `{"query":"bearing","weights":{"text":0}}`,
	})
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.Equal(t, "vector", a.Error.Details["lane"])
}

func TestAnswersShowTheLatestValuesOfCitedNodes(t *testing.T) {
	t.Parallel()
	s, l := startSearchOfLiveData(t)
	pump := s.newDescribedNode(t, "", "", "object", "Pump 7", "Moves water.", `{}`)
	linked := l.createSource(t, `{"name":"pump","nodeId":"`+pump+`"}`)
	l.store(
		t, s.Workspace, seriesKey{source: linked.ID, metric: "temperature"},
		sample{us: time.Now().UnixMicro(), value: 71.5, version: 1},
	)
	s.untilReady(t)
	found, degraded := s.ask(t, contract.Request{Body: `{"query":"what moves water","includeLiveData":true}`})
	require.Empty(t, degraded)
	values, err := json.Marshal(found.Citations[0].LiveData)
	require.NoError(t, err)
	require.JSONEq(t, `[{"SourceName":"pump","Metric":"temperature"}]`, string(values))
}
