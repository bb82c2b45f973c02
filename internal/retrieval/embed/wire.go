package embed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retryafter"
)

// Sizes of answers.
const (
	mostNumberBytes = 32       // of a number in JSON, comma and white space included
	mostAround      = 64 << 10 // of all that is around the vectors
	mostErrorBytes  = 16 << 10
)

// question is a request of OpenAI's embeddings API.
type question struct {
	Model  string   `json:"model"`
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

// answer is what it answers, as far as it matters here.
type answer struct {
	Data []struct {
		Index     int    `json:"index"`
		Embedding Vector `json:"embedding"`
	} `json:"data"`
}

// request makes a request to a path below the base URL; without texts it has no body.
func (r *Remote) request(ctx context.Context, method, path string, texts []string) (*http.Request, error) {
	var body io.Reader
	if texts != nil {
		raw, err := json.Marshal(question{Model: r.options.Model.Name, Input: texts, Format: "float"})
		if err != nil {
			return nil, fmt.Errorf("writing a request for vectors: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.base.JoinPath(path).String(), body)
	if err != nil {
		return nil, fmt.Errorf("writing a request for vectors: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "livegraph")
	if r.options.Key != "" {
		request.Header.Set("Authorization", "Bearer "+r.options.Key)
	}
	return request, nil
}

// vectorsOf reads an answer, and checks that it is one: the vectors of all texts, of
// the right length, of numbers.
func vectorsOf(body []byte, texts, dimensions int) ([]Vector, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, nonsense(errors.New("the answer is not what OpenAI's API answers")) // its text may hold ours
	}
	if len(a.Data) != texts {
		return nil, nonsense(fmt.Errorf("%d vectors for %d texts", len(a.Data), texts))
	}
	vectors := make([]Vector, texts)
	seen := make([]bool, texts)
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= texts || seen[d.Index] {
			return nil, nonsense(fmt.Errorf("vector %d of %d, out of range or twice", d.Index, texts))
		}
		seen[d.Index] = true
		if len(d.Embedding) != dimensions {
			return nil, nonsense(fmt.Errorf(
				"the model's vectors have %d dimensions, not %d: correct --embedder-dimensions", len(d.Embedding), dimensions,
			))
		}
		v, ok := normalise(d.Embedding)
		if !ok {
			return nil, nonsense(errors.New("a vector holds what is no number"))
		}
		vectors[d.Index] = v
	}
	return vectors, nil
}

func nonsense(cause error) error {
	return fault.Wrap(cause, fault.BadGateway, "the embedder's answer cannot be used")
}

// identifier is what an API's error codes look like. Nothing else of an error is
// kept: its message may quote a text, or the key.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// refusal makes the fault of an answer that is not 200.
func refusal(response *http.Response) error {
	var body struct {
		Error struct {
			Type string `json:"type"`
			Code any    `json:"code"`
		} `json:"error"`
	}
	raw, _ := readAtMost(response.Body, mostErrorBytes)
	_ = json.Unmarshal(raw, &body)
	said := []string{"it answered " + strconv.Itoa(response.StatusCode)}
	for _, word := range []any{body.Error.Type, body.Error.Code} {
		if word, ok := word.(string); ok && identifier.MatchString(word) {
			said = append(said, word)
		}
	}
	cause := errors.New(strings.Join(said, " "))
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests && body.Error.Code != "insufficient_quota":
		return fault.Wrap(cause, fault.Unavailable, "the embedder is asked too often").After(retryafter.Of(response.Header))
	case status == http.StatusTooManyRequests:
		return fault.Wrap(cause, fault.BadGateway, "the embedder's account is used up")
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return fault.Wrap(
			cause, fault.Unavailable, "the embedder cannot answer at present",
		).After(retryafter.Of(response.Header))
	case status == http.StatusBadRequest,
		status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return fault.Wrap(cause, fault.Invalid, "the embedder refuses the text")
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.Wrap(cause, fault.BadGateway, "the embedder refuses our key")
	case status == http.StatusNotFound:
		return fault.Wrap(cause, fault.BadGateway, "the embedder has no such model or address")
	default:
		return fault.Wrap(cause, fault.BadGateway, "the embedder's answer cannot be used")
	}
}

// errTooLong says that an answer has more bytes than it can need.
var errTooLong = errors.New("the answer is longer than its vectors can be")

// mostBytes is the most that an answer with so many vectors can need.
func mostBytes(texts, dimensions int) int64 {
	return mostAround + int64(texts)*(int64(dimensions)*mostNumberBytes+1024)
}

// readAtMost reads a body of at most limit bytes.
func readAtMost(body io.Reader, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = errTooLong
	}
	return raw, err
}
