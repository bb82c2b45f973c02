// Package embed computes the vectors of texts: with the model in the binary ([Static]), or
// with an OpenAI-compatible API ([Remote]), which is the embedded embedder, a container of
// Livegraph, or any other server.
//
// The embedder is configured. Vectors of two models cannot be compared, so this package
// never falls back from one to the other. An index records the [Model] of its vectors.
package embed

import (
	"context"
	"math"

	"github.com/livegraph/livegraph/internal/retrieval/vector"
)

// Vector is the embedding of a text, normalised to length 1. It is nil for a text that has
// no vector, because it has nothing that the model recognises. Such a text is never a hit.
type Vector []float32

// Model identifies the model that computes vectors.
type Model = vector.Model

// Embedder computes the vectors of texts with one model. It is safe for concurrent use.
type Embedder interface {
	// Model returns the model of the vectors.
	Model() Model
	// Embed returns the vectors of the texts, in their order. Its errors are faults:
	// Unavailable, BadGateway and Timeout are temporary or can be fixed by the operator.
	// Invalid means that the texts are refused, and a retry would be refused too.
	Embed(ctx context.Context, texts []string) ([]Vector, error)
	// Ping checks that the embedder responds, without computing vectors.
	Ping(ctx context.Context) error
	// Close closes idle connections.
	Close()
}

// normalise scales a vector to length 1. It returns nil for the zero vector, and false for
// a vector with a component that is NaN or infinite.
func normalise(v Vector) (Vector, bool) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, false
	}
	if sum == 0 {
		return nil, true
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return v, true
}
