package lexical

import (
	"iter"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// Occurrences returns the terms of a text with their positions, in order, of the first MaxText bytes.
func Occurrences(text string) iter.Seq[occurrence] {
	return func(yield func(occurrence) bool) { yieldTerms(scan(truncate.Bytes(text, MaxText)), true, yield) }
}
