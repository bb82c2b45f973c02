package lexical

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// A process that died is followed by another after leaseFor; no transaction of what is
	// done under a lease takes as long.
	leaseFor    = 90 * time.Second
	renewEvery  = 20 * time.Second
	releaseTime = time.Second
)

// lease lets one process at a time do some work of the text lane.
type lease struct {
	name    string
	db      *postgres.DB
	logger  *slog.Logger
	holder  uuid.UUID
	renewed time.Time
}

func newLease(name string, c *Consumer) lease {
	return lease{name: name, db: c.deps.Graph, logger: c.logger, holder: uuid.New()}
}

// take takes the lease or renews it, and reports whether it is ours.
func (l *lease) take(ctx context.Context) (bool, error) {
	if time.Since(l.renewed) < renewEvery {
		return true, nil
	}
	held, err := l.db.TakeLease(ctx, l.name, l.holder, leaseFor)
	if l.renewed = (time.Time{}); err == nil && held {
		l.renewed = time.Now()
	}
	return held, err
}

// release lets another process do the work at once.
func (l *lease) release(ctx context.Context) {
	if l.renewed.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := l.db.GiveLease(ctx, l.name, l.holder); err != nil {
		l.logger.Debug("the lease was not given back", "lease", l.name, "error", err)
	}
}
