package auth

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

const (
	flushInterval = 5 * time.Second
	// maxUses bounds the uses that are kept while Postgres is unavailable.
	maxUses = 100_000
)

// useLog keeps the last use of each key until the next write.
type useLog struct {
	mu   sync.Mutex
	last map[uuid.UUID]access.KeyUse
}

// RecordUse records that the key was used now, from ip (the zero address: unknown).
func (a *Authenticator) RecordUse(key uuid.UUID, ip netip.Addr) {
	a.uses.add(access.KeyUse{ID: key, At: time.Now(), IP: ip})
}

func (u *useLog) add(use access.KeyUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[uuid.UUID]access.KeyUse{}
	}
	before, ok := u.last[use.ID]
	if (ok && before.At.After(use.At)) || (!ok && len(u.last) >= maxUses) {
		return
	}
	u.last[use.ID] = use
}

func (u *useLog) drain() []access.KeyUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	uses := make([]access.KeyUse, 0, len(u.last))
	for _, use := range u.last {
		uses = append(uses, use)
	}
	u.last = nil
	return uses
}

func (a *Authenticator) flushUses(ctx context.Context) {
	uses := a.uses.drain()
	if len(uses) == 0 {
		return
	}
	if err := a.store.RecordKeyUses(ctx, uses); err != nil {
		for _, use := range uses {
			a.uses.add(use)
		}
		a.metrics.writeFailures.Inc()
		slog.WarnContext(ctx, "the last use of keys is not stored yet", "keys", len(uses), "error", err)
	}
}
