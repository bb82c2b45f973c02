package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// refusedAfter is when a key that was revoked works nowhere any more.
const refusedAfter = time.Second

// keyring knows the keys that were taken back of late.
type keyring struct {
	mu   sync.Mutex
	gone []goneKey
}

// goneKey is a key that opens nothing any more.
type goneKey struct {
	access
	since time.Time // when that was answered
	why   string
}

// keptKeys bounds how many of them are tried again later.
const keptKeys = 200

func newKeyring() *keyring { return &keyring{} }

func (k *keyring) add(g goneKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone = append(k.gone, g); len(k.gone) > keptKeys {
		k.gone = k.gone[1:]
	}
}

func (k *keyring) list() []goneKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]goneKey(nil), k.gone...)
}

// useKey makes a key, uses it, and takes it back: a second after that is answered, it
// works on no process.
func (t *tenant) useKey(ctx context.Context, dice *rand.Rand) {
	l := t.load
	key, err := l.operator.makeKey(ctx, t, fmt.Sprintf("passing %d", l.tick()), "read:nodes")
	if err != nil {
		if !errors.Is(err, errUnknown) {
			l.wrong.add(12, "a key cannot be made", "workspace %s: %v", t.id, err)
		}
		return
	}
	read := call{key: key, method: http.MethodGet, path: "/api/queries/nodes?limit=1"}
	for range 3 { // so that processes remember it
		if _, err := l.client.do(ctx, read); err != nil && over(ctx) {
			return
		}
	}
	l.tryScope(ctx, key)
	why := "revoked"
	if dice.IntN(3) == 0 {
		why = "rolled without grace"
		var next madeKey
		err = l.operator.do(
			ctx,
			call{
				method: http.MethodPost, path: "/admin/api/keys/" + key.id + "/roll", body: body(map[string]any{"graceSeconds": 0}),
			},
			http.StatusCreated, &next,
		)
		if err == nil { // anyone who holds the successor can go on
			after := access{tenant: t, id: next.ID, text: next.Key}
			_, _ = l.client.do(ctx, call{key: after, method: http.MethodGet, path: "/api/queries/nodes?limit=1"})
			if err := l.operator.do(
				ctx, call{method: http.MethodDelete, path: "/admin/api/keys/" + next.ID}, http.StatusNoContent, nil,
			); err == nil {
				l.keys.add(goneKey{after, time.Now(), "revoked"})
			}
		}
	} else {
		err = l.operator.do(
			ctx, call{method: http.MethodDelete, path: "/admin/api/keys/" + key.id}, http.StatusNoContent, nil,
		)
	}
	if err != nil {
		return // it may or may not open things: nothing is expected of it
	}
	gone := goneKey{key, time.Now(), why}
	l.keys.add(gone)
	time.Sleep(refusedAfter)
	l.tryGone(ctx, gone)
}

// tryScope does with a key what its scope does not allow.
func (l *Load) tryScope(ctx context.Context, key access) {
	q := call{key: key, foreign: true, method: http.MethodPost, path: executePath, body: body(map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"name": key.tenant.canary, "entityType": "object"},
	})}
	a, err := l.client.do(ctx, q)
	if !unknown(a, err) && a.Status != http.StatusForbidden {
		l.wrong.add(12, "a key does what its scope does not allow", "key %s, %s: %d", key.id, a.RequestID, a.Status)
	}
}

// tryGone uses a key that opens nothing any more on every process.
func (l *Load) tryGone(ctx context.Context, gone goneKey) {
	for api := range l.cfg.APIs {
		began := time.Now()
		a, err := l.client.do(ctx, call{
			key: gone.access, foreign: true, api: api + 1, method: http.MethodGet, path: "/api/queries/nodes?limit=1",
		})
		if unknown(a, err) || a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden ||
			a.Status == http.StatusTooManyRequests {
			continue
		}
		l.wrong.add(
			12, "a key works that was taken back", "key %s, %s %s before the request on %s: %s answered %d", gone.id, gone.why,
			began.Sub(gone.since).Round(time.Millisecond), l.cfg.APIs[api], a.RequestID, a.Status,
		)
	}
}
