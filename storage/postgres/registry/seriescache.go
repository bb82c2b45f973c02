package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/maypok86/otter/v2"
)

const (
	// seriesCacheBytes is the size of a process's cache of pages of series.
	seriesCacheBytes = 8 << 20
	// seriesBytes and tagBytes are the sizes of a series and a tag without their strings.
	seriesBytes, tagBytes = 160, 64
	// maxSeriesKeyBytes is the maximum length of a cache key. Pages with longer keys are
	// not cached.
	maxSeriesKeyBytes = 4 << 10
)

// seriesCache caches pages of series, because dashboards request the same pages repeatedly.
// Each page is stored with the state of its workspace and is valid while that state is the
// same. The fields of sources are not cached.
type seriesCache = otter.Cache[string, *seriesListing]

func newSeriesCache() *seriesCache {
	return otter.Must(&otter.Options[string, *seriesListing]{
		MaximumWeight: seriesCacheBytes,
		Weigher:       func(key string, l *seriesListing) uint32 { return uint32(len(key) + l.size()) },
	})
}

// seriesListing is a page of series. It is immutable once it is in the cache.
type seriesListing struct {
	state string // of the workspace, read before the page
	list  []Series
	total int64
	more  bool
}

func (l *seriesListing) size() int {
	size := 0
	for i := range l.list {
		s := &l.list[i]
		size += seriesBytes + len(s.Metric)
		for key, value := range s.Tags {
			size += tagBytes + len(key) + len(value)
		}
	}
	return size
}

// seriesState returns a string that changes whenever the workspace's series or the set of
// its sources change: every such transaction also updates the counters in the workspace's
// row. It is empty for a workspace that does not exist.
func seriesState(ctx context.Context, q *pgxpool.Conn, workspace uuid.UUID) (state string, err error) {
	err = q.QueryRow(ctx, `SELECT xmin::text || ctid::text FROM workspaces WHERE id = $1`, workspace).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return state, err
}

// cacheKey returns the cache key of a page, "" if the page is not cached. A page that is
// filtered by the name or the node of sources is not cached, because these change without
// an update of the workspace's row. A page after a position is not cached, because it is
// rarely requested again.
func (f *SeriesFilter) cacheKey(workspace uuid.UUID, page SeriesPage) string {
	if f.SourceName != nil || f.NodeID != nil || page.After != nil {
		return ""
	}
	key := fmt.Sprintf(
		"%s %t %s %t %q %q %d %d", workspace, f.Sources == nil, f.Sources, f.Metrics == nil, f.Metrics, f.Tags, page.Limit,
		page.Offset,
	)
	if len(key) > maxSeriesKeyBytes {
		return ""
	}
	return key
}
