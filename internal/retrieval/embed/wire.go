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

// Limits of the sizes of responses.
const (
	maxNumberBytes   = 32       // of a number in JSON, including the comma and white space
	maxOverheadBytes = 64 << 10 // of everything except the vectors
	maxErrorBytes    = 16 << 10
)

// embeddingRequest is a request of OpenAI's embeddings API.
type embeddingRequest struct {
	Model  string   `json:"model"`
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

// embeddingResponse has the fields of a response that are used.
type embeddingResponse struct {
	Data []struct {
		Index     int    `json:"index"`
		Embedding Vector `json:"embedding"`
	} `json:"data"`
}

// request creates a request to a path below the base URL; without texts it has no body.
func (r *Remote) request(ctx context.Context, method, path string, texts []string) (*http.Request, error) {
	var body io.Reader
	if texts != nil {
		raw, err := json.Marshal(embeddingRequest{Model: r.options.Model.Name, Input: texts, Format: "float"})
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

// decodeVectors decodes a response and validates it: it must have the vectors of all texts,
// with the configured dimensions and finite components.
func decodeVectors(body []byte, texts, dimensions int) ([]Vector, error) {
	var a embeddingResponse
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, invalidResponse(errors.New("the answer is not what OpenAI's API answers")) // err may quote texts
	}
	if len(a.Data) != texts {
		return nil, invalidResponse(fmt.Errorf("%d vectors for %d texts", len(a.Data), texts))
	}
	vectors := make([]Vector, texts)
	seen := make([]bool, texts)
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= texts || seen[d.Index] {
			return nil, invalidResponse(fmt.Errorf("vector %d of %d, out of range or twice", d.Index, texts))
		}
		seen[d.Index] = true
		if len(d.Embedding) != dimensions {
			return nil, invalidResponse(fmt.Errorf(
				"the model's vectors have %d dimensions, not %d: correct --embedder-dimensions", len(d.Embedding), dimensions,
			))
		}
		v, ok := normalise(d.Embedding)
		if !ok {
			return nil, invalidResponse(errors.New("a vector has a component that is not a finite number"))
		}
		vectors[d.Index] = v
	}
	return vectors, nil
}

func invalidResponse(cause error) error {
	return fault.Wrap(cause, fault.BadGateway, "the embedder's answer cannot be used")
}

// identifier matches the error codes of APIs. Other parts of an error are dropped, because
// its message may quote a text or the key.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// statusFault returns the fault of a response whose status is not 200.
func statusFault(response *http.Response) error {
	var body struct {
		Error struct {
			Type string `json:"type"`
			Code any    `json:"code"`
		} `json:"error"`
	}
	raw, _ := readAtMost(response.Body, maxErrorBytes)
	_ = json.Unmarshal(raw, &body)
	parts := []string{"it answered " + strconv.Itoa(response.StatusCode)}
	for _, word := range []any{body.Error.Type, body.Error.Code} {
		if word, ok := word.(string); ok && identifier.MatchString(word) {
			parts = append(parts, word)
		}
	}
	cause := errors.New(strings.Join(parts, " "))
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests && body.Error.Code != "insufficient_quota":
		return fault.Wrap(
			cause, fault.Unavailable, "the embedder is asked too often",
		).After(retryafter.Parse(response.Header))
	case status == http.StatusTooManyRequests:
		return fault.Wrap(cause, fault.BadGateway, "the embedder's account is used up")
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return fault.Wrap(
			cause, fault.Unavailable, "the embedder cannot answer at present",
		).After(retryafter.Parse(response.Header))
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

// errTooLong is the error of a response that is longer than maxResponseBytes.
var errTooLong = errors.New("the answer is longer than its vectors can be")

// maxResponseBytes returns the maximum size of a response with the vectors of texts.
func maxResponseBytes(texts, dimensions int) int64 {
	return maxOverheadBytes + int64(texts)*(int64(dimensions)*maxNumberBytes+1024)
}

// readAtMost reads a body. It returns errTooLong if the body has more than limit bytes.
func readAtMost(body io.Reader, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = errTooLong
	}
	return raw, err
}
