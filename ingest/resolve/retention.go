package resolve

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/block"
)

// day is 24 hours in microseconds.
const day = int64(24 * time.Hour / time.Microsecond)

const (
	// retentionTTL is how long a workspace's retention is cached. If an expired point is
	// accepted because of a stale entry, queries still do not return it.
	retentionTTL = time.Second
	// maxRetentions is the maximum number of cached workspaces. A full cache is cleared.
	maxRetentions = 10_000
)

// RetentionDirectory returns the retention of workspaces and sources.
type RetentionDirectory interface {
	// Retention returns the retention of a workspace in days of 24 hours (nil: unlimited),
	// and that of its sources that have their own.
	Retention(ctx context.Context, workspace uuid.UUID) (days *int32, sources map[uuid.UUID]int32, err error)
}

// retentionCache caches the retention of workspaces for a short time.
type retentionCache struct {
	directory RetentionDirectory // nil: points of any age are accepted
	ttl       time.Duration

	mu         sync.Mutex
	workspaces map[uuid.UUID]*retention
}

// retention is the cached retention of a workspace. The first goroutine that finds it outdated
// reads it again, and the others wait for that.
type retention struct {
	mu      sync.Mutex
	until   time.Time
	days    *int32
	sources map[uuid.UUID]int32
}

func newRetentionCache(directory RetentionDirectory, ttl time.Duration) *retentionCache {
	return &retentionCache{directory: directory, ttl: ttl, workspaces: map[uuid.UUID]*retention{}}
}

// forget removes a workspace from the cache.
func (c *retentionCache) forget(workspace uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.workspaces, workspace)
}

// get returns the entry of a workspace, which it creates if there is none.
func (c *retentionCache) get(workspace uuid.UUID) *retention {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.workspaces[workspace]
	if r == nil {
		if len(c.workspaces) >= maxRetentions {
			clear(c.workspaces)
		}
		r = &retention{}
		c.workspaces[workspace] = r
	}
	return r
}

// read returns a workspace's retention; the map must not be changed.
func (c *retentionCache) read(ctx context.Context, workspace uuid.UUID) (
	days *int32, sources map[uuid.UUID]int32, err error,
) {
	if c.directory == nil {
		return nil, nil, nil
	}
	r := c.get(workspace)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); !now.Before(r.until) {
		if r.days, r.sources, err = c.directory.Retention(ctx, workspace); err != nil {
			return nil, nil, fmt.Errorf("reading the retention: %w", err)
		}
		r.until = now.Add(c.ttl)
	}
	return r.days, r.sources, nil
}

// RejectExpired rejects the points that are older than the retention of their source or workspace.
func (r *Resolver) RejectExpired(ctx context.Context, b *block.Batch) error {
	days, own, err := r.retention.read(ctx, b.Workspace)
	if err != nil || days == nil && len(own) == 0 {
		return err
	}
	limited := false
	b.Oldest = b.Oldest[:0]
	for i := range b.Sources.List {
		from := int64(math.MinInt64)
		if b.Sources.List[i].Known {
			from = keptFrom(b.ReceivedUS, days, own, b.Sources.List[i].ID)
		}
		limited = limited || from != math.MinInt64
		b.Oldest = append(b.Oldest, from)
	}
	if limited {
		b.Expire()
	}
	return nil
}

// keptFrom returns the oldest time within the retention of the source, in microseconds.
func keptFrom(nowUS int64, days *int32, own map[uuid.UUID]int32, source uuid.UUID) int64 {
	from := int64(math.MinInt64)
	if days != nil {
		from = nowUS - int64(*days)*day
	}
	if n, ok := own[source]; ok {
		from = max(from, nowUS-int64(n)*day) // the shorter retention applies
	}
	return from
}
