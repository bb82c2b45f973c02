package embed

import (
	"context"
	_ "embed"
	"encoding/binary"
	"math"
	"strings"
)

// The model minilm-static-256: a vector for each word piece; the vector of a text is their
// sum. minilm-static-256/model.json describes how it was built, NOTICE has its licences.
var (
	//go:embed minilm-static-256/vocab.txt
	staticVocabulary string
	//go:embed minilm-static-256/embeddings.int8
	staticRows string // float32 scales, then int8 rows, little-endian, row-major
)

const (
	staticName          = "minilm-static-256"
	staticDimensions    = 256
	staticMaxTokens     = 2048 // of a text; the rest is not read
	staticCheckInterval = 256  // texts between two checks of the context
)

// Static is the model in the binary. It requires no process and no download, and embeds
// tens of thousands of short texts per second. It recognises words, not paraphrases.
type Static struct {
	vocabulary vocabulary
	scales     []float32
	rows       string
}

// NewStatic loads the model, which takes a few milliseconds.
func NewStatic() *Static {
	words := strings.Split(strings.TrimSuffix(staticVocabulary, "\n"), "\n")
	s := &Static{vocabulary: newPieces(words), scales: make([]float32, len(words)), rows: staticRows[4*len(words):]}
	raw := []byte(staticRows[:4*len(words)])
	for i := range s.scales {
		s.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return s
}

// Model returns minilm-static-256.
func (*Static) Model() Model { return Model{Name: staticName, Dimensions: staticDimensions} }

// Close does nothing.
func (*Static) Close() {}

// Ping always succeeds.
func (*Static) Ping(context.Context) error { return nil }

// Embed computes the vectors on the goroutine of the caller. It fails only if ctx is done.
func (s *Static) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	vectors := make([]Vector, len(texts))
	var t tokenizer
	for i, text := range texts {
		if i%staticCheckInterval == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		vectors[i] = s.vector(s.tokens(&t, text))
	}
	return vectors, nil
}

// tokens returns the ids of a text's word pieces; they are valid until w is used again.
func (s *Static) tokens(t *tokenizer, text string) []int32 {
	t.ids = t.ids[:0]
	for word := range t.words(text) {
		if t.ids = s.vocabulary.append(t.ids, word); len(t.ids) >= staticMaxTokens {
			return t.ids[:staticMaxTokens]
		}
	}
	return t.ids
}

// vector returns the sum of the rows of the ids, scaled to length 1.
func (s *Static) vector(ids []int32) Vector {
	if len(ids) == 0 {
		return nil
	}
	var sum [staticDimensions]float32
	for _, id := range ids {
		scale := s.scales[id]
		row := s.rows[int(id)*staticDimensions:][:staticDimensions]
		for i := range sum {
			sum[i] += scale * float32(int8(row[i]))
		}
	}
	v, _ := normalise(append(Vector(nil), sum[:]...)) // all values of the table are finite
	return v
}
