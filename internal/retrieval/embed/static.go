package embed

import (
	"context"
	_ "embed"
	"encoding/binary"
	"math"
	"strings"
)

// The model minilm-static-256: a vector for each word piece, whose sum is the text's.
// minilm-static-256/model.json has its recipe, NOTICE its licences.
var (
	//go:embed minilm-static-256/vocab.txt
	staticVocabulary string
	//go:embed minilm-static-256/embeddings.int8
	staticRows string // float32 scales, then int8 rows, little-endian, row-major
)

const (
	staticName       = "minilm-static-256"
	staticDimensions = 256
	staticMaxTokens  = 2048 // of a text; what is beyond is not read
	staticLook       = 256  // texts between two looks at the context
)

// Static is the model inside the binary: no process, no download, tens of thousands
// of short texts a second. It knows words, not paraphrase.
type Static struct {
	pieces pieces
	scales []float32
	rows   string
}

// NewStatic prepares the model, in a few milliseconds.
func NewStatic() *Static {
	words := strings.Split(strings.TrimSuffix(staticVocabulary, "\n"), "\n")
	s := &Static{pieces: newPieces(words), scales: make([]float32, len(words)), rows: staticRows[4*len(words):]}
	raw := []byte(staticRows[:4*len(words)])
	for i := range s.scales {
		s.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return s
}

// Model is minilm-static-256.
func (*Static) Model() Model { return Model{Name: staticName, Dimensions: staticDimensions} }

// Close has nothing to let go of.
func (*Static) Close() {}

// Ping has nobody to ask.
func (*Static) Ping(context.Context) error { return nil }

// Embed computes on the caller's goroutine. It fails when ctx is done, and never
// otherwise.
func (s *Static) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	vectors := make([]Vector, len(texts))
	var w wording
	for i, text := range texts {
		if i%staticLook == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		vectors[i] = s.vector(s.tokens(&w, text))
	}
	return vectors, nil
}

// tokens returns the ids of a text's word pieces; they are valid until w is used again.
func (s *Static) tokens(w *wording, text string) []int32 {
	w.ids = w.ids[:0]
	for word := range w.words(text) {
		if w.ids = s.pieces.append(w.ids, word); len(w.ids) >= staticMaxTokens {
			return w.ids[:staticMaxTokens]
		}
	}
	return w.ids
}

// vector sums the rows of the ids and brings the sum to length 1.
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
	v, _ := normalise(append(Vector(nil), sum[:]...)) // finite: the table is
	return v
}
