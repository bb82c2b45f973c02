package embeddings

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// maxCallBytes is the maximum size of the texts of one call, so that a search that calls the
// embedder at the same time does not wait long.
const maxCallBytes = 32 << 10

// concurrentCalls is the number of calls at a time. While the answer of one is read, the embedder
// computes the next one.
const concurrentCalls = 2

// probeText is a text that every embedder accepts.
const probeText = "pump"

// textEmbedder embeds texts in calls of limited size.
type textEmbedder struct {
	embedder embed.Embedder
	maxTexts int // maximum number of texts of one call
	logger   *slog.Logger
	metrics  *metrics
}

// embed adds the missing vectors of texts to known. Each call has texts of similar length,
// because a model processes each text as long as the longest of its call. A text that the
// embedder refuses because of its content gets no vector.
func (e *textEmbedder) embed(ctx context.Context, texts []string, known map[string]embed.Vector) error {
	var missing []string
	for _, text := range texts {
		if _, is := known[text]; !is {
			missing = append(missing, text)
		}
	}
	slices.SortFunc(missing, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	var mu sync.Mutex
	add := func(text string, v embed.Vector) {
		mu.Lock()
		defer mu.Unlock()
		known[text] = v
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentCalls)
	for _, texts := range e.divide(slices.Compact(missing)) {
		group.Go(func() error {
			if ctx.Err() != nil { // another call failed
				return context.Cause(ctx)
			}
			return e.call(ctx, texts, add)
		})
	}
	return group.Wait()
}

// divide returns the texts of each call.
func (e *textEmbedder) divide(texts []string) (calls [][]string) {
	for len(texts) > 0 {
		n, bytes := 1, len(texts[0])
		for n < len(texts) && n < e.maxTexts && bytes+len(texts[n]) <= maxCallBytes {
			bytes += len(texts[n])
			n++
		}
		calls, texts = append(calls, texts[:n]), texts[n:]
	}
	return calls
}

// call embeds texts and adds their vectors. If the embedder refuses the call, it embeds the halves separately.
func (e *textEmbedder) call(ctx context.Context, texts []string, add func(string, embed.Vector)) error {
	began := time.Now()
	vectors, err := e.embedder.Embed(ctx, texts)
	switch {
	case err == nil:
		for i, text := range texts {
			add(text, vectors[i])
		}
		e.metrics.recordEmbedding(len(texts), time.Since(began))
		return nil
	case !fault.Is(err, fault.Invalid):
		e.metrics.embedFailures.Inc()
		return err
	case len(texts) > 1:
		middle := len(texts) / 2
		if err := e.call(ctx, texts[:middle], add); err != nil {
			return err
		}
		return e.call(ctx, texts[middle:], add)
	}
	// If the embedder refuses the probe too, the text is not the cause.
	if _, failed := e.embedder.Embed(ctx, []string{probeText}); failed != nil {
		e.metrics.embedFailures.Inc()
		return fault.Wrap(failed, fault.Unavailable, "The embedder refuses every text")
	}
	e.metrics.refused.Inc()
	e.logger.Warn("a text has no vector: the embedder refuses it", "bytes", len(texts[0]), "error", err)
	add(texts[0], nil)
	return nil
}
