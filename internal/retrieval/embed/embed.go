// Package embed turns texts into vectors: by the model inside the binary ([Static]),
// or by an OpenAI-compatible API ([Remote]), which is the embedded embedder, a
// container of ours, or anybody's.
//
// Which one it is is configured, and stays: vectors of two models do not mix, so
// nothing here falls back from one to the other. An index records the [Model] that
// its vectors are of.
package embed

import (
	"context"
	"math"

	"github.com/livegraph/livegraph/internal/retrieval/vector"
)

// Vector is a text's place in a model's space, of length 1; nil for a text that has
// none, because nothing in it means anything to the model. Such a text is never a hit.
type Vector []float32

// Model names what vectors are of.
type Model = vector.Model

// Embedder turns texts into vectors of one model. It is safe for concurrent use.
type Embedder interface {
	// Model reports what the vectors are of.
	Model() Model
	// Embed returns the vectors of the texts, in their order. Its errors are faults:
	// Unavailable, BadGateway and Timeout pass or are the operator's to mend, Invalid
	// means that the texts themselves are refused and will be again.
	Embed(ctx context.Context, texts []string) ([]Vector, error)
	// Ping asks for a sign of life and computes nothing.
	Ping(ctx context.Context) error
	// Close lets go of idle connections.
	Close()
}

// normalise brings a vector to length 1. It gives nil for the zero vector, and false
// for one that holds what is no number.
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
