package livegraph_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

const (
	tokenEvents = ": an answer\n\nevent: token\ndata: {\"text\":\"It \"}\n\n" +
		"event: token\ndata: {\"text\":\"runs [1].\"}\n\n"
	answerEvent = "event: answer\ndata: {\"success\":true,\"data\":{\"answer\":\"It runs [1].\",\"sentences\":[]," +
		"\"citations\":[]},\"meta\":{\"degraded\":[\"generation\"]},\"requestId\":\"req_1\"}\n\n"
)

// readAnswer returns the texts of a streamed answer, its last part and its error.
func readAnswer(t *testing.T, client *livegraph.Client) (text string, last livegraph.AnswerPart, err error) {
	t.Helper()
	for part, partErr := range client.Search.AnswerStream(t.Context(), livegraph.AnswerQuery{Query: "does it run?"}) {
		text += part.Text
		last, err = part, partErr
	}
	return text, last, err
}

func TestAnAnswerIsReceivedInParts(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			fail(w, 503, "INTERNAL_ERROR")
			return
		}
		send(w, tokenEvents+answerEvent)
	})
	text, last, err := readAnswer(t, s.client(t))
	noError(t, err)
	equal(t, "It runs [1].", text)
	equal(t, "It runs [1].", last.Answer.Answer)
	equal(t, []string{"generation"}, last.Degraded)
	for _, r := range s.all() {
		equal(t, "text/event-stream", r.header.Get("Accept"))
		equal(t, "application/json", r.header.Get("Content-Type"))
		equal(t, "does it run?", r.json(t)["query"])
	}
	equal(t, 2, len(s.all()))
}

func TestAStreamedAnswerThatFailsIsAnError(t *testing.T) {
	for body, want := range map[string]error{
		tokenEvents: nil, // it ends before the answer
		tokenEvents + "event: error\ndata: {\"success\":false,\"error\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"no\"}," +
			"\"requestId\":\"req_1\"}\n\n": livegraph.ErrServer,
		"event: answer\ndata: {}\n\n": nil,
		"event: token\ndata: 7\n\n":   nil,
		"event: other\ndata: {}\n\n":  nil,
	} {
		s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { send(w, body) })
		_, last, err := readAnswer(t, s.client(t))
		check(t, err != nil && last.Answer == nil, "%s", body)
		check(t, want == nil || errors.Is(err, want), "%v", err)
		check(t, !strings.Contains(err.Error(), testKey), "%v", err)
		equal(t, 1, len(s.all()))
	}
}

func TestLeavingAStreamedAnswerClosesIt(t *testing.T) {
	closed := make(chan struct{})
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		send(w, tokenEvents)
		for {
			if _, err := w.Write([]byte(": heartbeat\n\n")); err != nil {
				close(closed)
				return
			}
			w.(http.Flusher).Flush()
		}
	})
	for part, err := range s.client(t).Search.AnswerStream(t.Context(), livegraph.AnswerQuery{Query: "a"}) {
		noError(t, err)
		equal(t, "It ", part.Text)
		break
	}
	<-closed
}
