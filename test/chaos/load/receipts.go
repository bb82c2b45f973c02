package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
)

// sendReceipt sends a point without a time: the server's time of receipt is kept under
// the request's key, so that however often it is sent there is one point.
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
	a, _ := t.try(ctx, dice, q)
	if a == nil {
		t.shelf.mu.Lock()
		t.shelf.open = append(t.shelf.open, openReceipt{s, number, q})
		t.shelf.mu.Unlock()
		return
	}
	// once more, on another process: answered as before, and one point still
	if s.received(number, a) && dice.IntN(2) == 0 {
		_, _ = t.try(ctx, dice, q)
	}
}

// openReceipt is a point without a time of which it is not known what came.
type openReceipt struct {
	source *source
	number float64
	call   call
}

// received notes the answer to a point without a time: whether it is stored.
func (s *source) received(number float64, a *answer) bool {
	if a.Status != http.StatusCreated {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receipts[number] = receipt{must: true}
	return true
}

// resolveReceipts sends points without a time again of which it is not known what came,
// with their keys: whatever came of the first try, each is there once then.
func (t *tenant) resolveReceipts(ctx context.Context) error {
	t.shelf.mu.Lock()
	open := t.shelf.open
	t.shelf.open = nil
	t.shelf.mu.Unlock()
	for _, one := range open {
		a, err := t.load.client.reach(ctx, one.call)
		if err != nil {
			return fmt.Errorf("resolving points without a time: %w", err)
		}
		one.source.received(one.number, a)
	}
	return nil
}
