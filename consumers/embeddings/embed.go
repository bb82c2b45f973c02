package embeddings

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// callBytes bounds the texts of one call, so that a search that asks the embedder at
// the same time does not wait long.
const callBytes = 32 << 10

// probeText is what every embedder takes.
const probeText = "pump"

// embedding has texts embedded.
type embedding struct {
	embedder embed.Embedder
	most     int // texts of one call
	logger   *slog.Logger
	metrics  *metrics
}

// embed adds the vectors of texts to those that are known. Texts of about one length
// go together: a model computes each as long as the longest of its call. One that the
// embedder refuses for what is in it has no vector.
func (e *embedding) embed(ctx context.Context, texts []string, known map[string]embed.Vector) error {
	var fresh []string
	for _, text := range texts {
		if _, is := known[text]; !is {
			fresh = append(fresh, text)
		}
	}
	slices.SortFunc(fresh, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	fresh = slices.Compact(fresh)
	for len(fresh) > 0 {
		n, bytes := 1, len(fresh[0])
		for n < len(fresh) && n < e.most && bytes+len(fresh[n]) <= callBytes {
			bytes += len(fresh[n])
			n++
		}
		if err := e.call(ctx, fresh[:n], known); err != nil {
			return err
		}
		fresh = fresh[n:]
	}
	return nil
}

// call embeds texts, in halves if some of them are refused.
func (e *embedding) call(ctx context.Context, texts []string, known map[string]embed.Vector) error {
	began := time.Now()
	vectors, err := e.embedder.Embed(ctx, texts)
	switch {
	case err == nil:
		for i, text := range texts {
			known[text] = vectors[i]
		}
		e.metrics.embedded(len(texts), time.Since(began))
		return nil
	case !fault.Is(err, fault.Invalid):
		e.metrics.embedFailures.Inc()
		return err
	case len(texts) > 1:
		middle := len(texts) / 2
		if err := e.call(ctx, texts[:middle], known); err != nil {
			return err
		}
		return e.call(ctx, texts[middle:], known)
	}
	// It may be that it refuses everything, which is not the text's fault.
	if _, failed := e.embedder.Embed(ctx, []string{probeText}); failed != nil {
		e.metrics.embedFailures.Inc()
		return fault.Wrap(failed, fault.Unavailable, "The embedder refuses every text")
	}
	e.metrics.refused.Inc()
	e.logger.Warn("a text has no vector: the embedder refuses it", "bytes", len(texts[0]), "error", err)
	known[texts[0]] = nil
	return nil
}
