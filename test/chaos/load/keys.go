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

// revocationDelay is the time after which a revoked key must be refused everywhere.
const revocationDelay = time.Second

// revokedKeys are the keys that were revoked recently.
type revokedKeys struct {
	mu   sync.Mutex
	keys []revokedKey
}

// revokedKey is a key that must be refused.
type revokedKey struct {
	access
	since time.Time // when the revocation was answered
	why   string
}

// maxRevokedKeys bounds how many of them are checked again later.
const maxRevokedKeys = 200

func newRevokedKeys() *revokedKeys { return &revokedKeys{} }

func (k *revokedKeys) add(key revokedKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys = append(k.keys, key); len(k.keys) > maxRevokedKeys {
		k.keys = k.keys[1:]
	}
}

func (k *revokedKeys) list() []revokedKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]revokedKey(nil), k.keys...)
}

// useKey creates a key, uses it, and revokes it: one second after the revocation is answered, every
// process must refuse the key.
func (t *tenant) useKey(ctx context.Context, dice *rand.Rand) {
	l := t.load
	key, err := l.operator.createKey(ctx, t, fmt.Sprintf("passing %d", l.tick()), "read:nodes")
	if err != nil {
		if !errors.Is(err, errUnknown) {
			l.findings.add(12, "a key cannot be made", "workspace %s: %v", t.id, err)
		}
		return
	}
	read := call{key: key, method: http.MethodGet, path: "/api/queries/nodes?limit=1"}
	for range 3 { // so that processes cache it
		if _, err := l.client.do(ctx, read); err != nil && roundOver(ctx) {
			return
		}
	}
	l.checkScope(ctx, key)
	why := "revoked"
	if dice.IntN(3) == 0 {
		why = "rolled without grace"
		var next createdKey
		err = l.operator.do(
			ctx,
			call{
				method: http.MethodPost, path: "/admin/api/keys/" + key.id + "/roll", body: body(map[string]any{"graceSeconds": 0}),
			},
			http.StatusCreated, &next,
		)
		if err == nil { // the successor key works
			successor := access{tenant: t, id: next.ID, text: next.Key}
			_, _ = l.client.do(ctx, call{key: successor, method: http.MethodGet, path: "/api/queries/nodes?limit=1"})
			if err := l.operator.do(
				ctx, call{method: http.MethodDelete, path: "/admin/api/keys/" + next.ID}, http.StatusNoContent, nil,
			); err == nil {
				l.revoked.add(revokedKey{successor, time.Now(), "revoked"})
			}
		}
	} else {
		err = l.operator.do(
			ctx, call{method: http.MethodDelete, path: "/admin/api/keys/" + key.id}, http.StatusNoContent, nil,
		)
	}
	if err != nil {
		return // it may or may not be revoked: nothing is expected of it
	}
	revoked := revokedKey{key, time.Now(), why}
	l.revoked.add(revoked)
	time.Sleep(revocationDelay)
	l.checkRevoked(ctx, revoked)
}

// checkScope sends a request that the scope of the key does not allow.
func (l *Load) checkScope(ctx context.Context, key access) {
	q := call{key: key, errorExpected: true, method: http.MethodPost, path: executePath, body: body(map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"name": key.tenant.canary, "entityType": "object"},
	})}
	a, err := l.client.do(ctx, q)
	if !outcomeUnknown(a, err) && a.Status != http.StatusForbidden {
		l.findings.add(12, "a key does what its scope does not allow", "key %s, %s: %d", key.id, a.RequestID, a.Status)
	}
}

// checkRevoked sends a request with a revoked key to every process.
func (l *Load) checkRevoked(ctx context.Context, revoked revokedKey) {
	for api := range l.cfg.APIs {
		began := time.Now()
		a, err := l.client.do(ctx, call{
			key: revoked.access, errorExpected: true, api: api + 1, method: http.MethodGet, path: "/api/queries/nodes?limit=1",
		})
		if outcomeUnknown(a, err) || a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden ||
			a.Status == http.StatusTooManyRequests {
			continue
		}
		l.findings.add(
			12, "a key works that was taken back", "key %s, %s %s before the request on %s: %s answered %d",
			revoked.id, revoked.why,
			began.Sub(revoked.since).Round(time.Millisecond), l.cfg.APIs[api], a.RequestID, a.Status,
		)
	}
}
