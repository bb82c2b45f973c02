package embed

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Limits of the sizes of responses.
const (
	maxNumberBytes   = 32       // of a number in JSON, including the comma and white space
	maxOverheadBytes = 64 << 10 // of everything except the vectors
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

// decodeVectors decodes a response and validates it: it must have the vectors of all texts,
// with the configured dimensions and finite components.
func decodeVectors(body []byte, texts, dimensions int) ([]Vector, error) {
	var a embeddingResponse
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, errors.New("the answer is not what OpenAI's API answers") // err may quote texts
	}
	if len(a.Data) != texts {
		return nil, fmt.Errorf("%d vectors for %d texts", len(a.Data), texts)
	}
	vectors := make([]Vector, texts)
	seen := make([]bool, texts)
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= texts || seen[d.Index] {
			return nil, fmt.Errorf("vector %d of %d, out of range or twice", d.Index, texts)
		}
		seen[d.Index] = true
		if len(d.Embedding) != dimensions {
			return nil, fmt.Errorf(
				"the model's vectors have %d dimensions, not %d: correct --embedder-dimensions", len(d.Embedding), dimensions,
			)
		}
		v, ok := normalise(d.Embedding)
		if !ok {
			return nil, errors.New("a vector has a component that is not a finite number")
		}
		vectors[d.Index] = v
	}
	return vectors, nil
}

// maxResponseBytes returns the maximum size of a response with the vectors of texts.
func maxResponseBytes(texts, dimensions int) int64 {
	return maxOverheadBytes + int64(texts)*(int64(dimensions)*maxNumberBytes+1024)
}
