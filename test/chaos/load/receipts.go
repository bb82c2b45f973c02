package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
)

// sendReceipt sends a point without a timestamp: the server stores the time of receipt under the
// request's key, so that repeated requests write one point.
func (t *tenant) sendReceipt(ctx context.Context, dice *rand.Rand, s *source) {
	number := float64(t.load.tick())
	s.mu.Lock()
	s.receipts[number] = receipt{}
	s.mu.Unlock()
	q := call{
		key: t.admin, method: http.MethodPost, path: "/api/live-data/ingest",
		header: map[string]string{idempotencyKey: fmt.Sprintf("%s-receipt-%d-%.0f", t.canary, t.load.round, number)},
		body: body(map[string]any{"points": []map[string]any{{
			"sourceId": s.id, "metric": receiptMetric, "value": number, "tags": map[string]string{"place": t.canary},
		}}}),
	}
	a, _ := t.sendWithRetries(ctx, dice, q)
	if a == nil {
		t.sources.mu.Lock()
		t.sources.open = append(t.sources.open, openReceipt{s, number, q})
		t.sources.mu.Unlock()
		return
	}
	// send it again to another process: it is still one point
	if s.received(number, a) && dice.IntN(2) == 0 {
		_, _ = t.sendWithRetries(ctx, dice, q)
	}
}

// openReceipt is a point without a timestamp whose outcome is unknown.
type openReceipt struct {
	source *source
	number float64
	call   call
}

// received records the answer to a point without a timestamp. It reports whether the point was
// accepted.
func (s *source) received(number float64, a *answer) bool {
	if a.Status != http.StatusCreated {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receipts[number] = receipt{required: true}
	return true
}

// resolveReceipts sends the points without a timestamp whose outcome is unknown again, with their
// keys: afterwards each of them is stored once.
func (t *tenant) resolveReceipts(ctx context.Context) error {
	t.sources.mu.Lock()
	open := t.sources.open
	t.sources.open = nil
	t.sources.mu.Unlock()
	for _, one := range open {
		a, err := t.load.client.doUntilAnswered(ctx, one.call)
		if err != nil {
			return fmt.Errorf("resolving points without a time: %w", err)
		}
		one.source.received(one.number, a)
	}
	return nil
}
