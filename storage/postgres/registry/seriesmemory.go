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
	// rememberedSeriesBytes is how much a process remembers of pages of series.
	rememberedSeriesBytes = 8 << 20
	// seriesBytes is what a series takes besides its texts, and tagBytes a tag.
	seriesBytes, tagBytes = 160, 64
	// longestSeriesKey is of the question for a page that is remembered.
	longestSeriesKey = 4 << 10
)

// seriesMemory remembers pages of series that were listed lately: dashboards ask for the
// same ones over and over. Each is remembered with the state of its workspace, and holds
// as long as that is the same. What a series has of its source is not remembered.
type seriesMemory = otter.Cache[string, *seriesListing]

func newSeriesMemory() *seriesMemory {
	return otter.Must(&otter.Options[string, *seriesListing]{
		MaximumWeight: rememberedSeriesBytes,
		Weigher:       func(key string, l *seriesListing) uint32 { return uint32(len(key) + l.bytes()) },
	})
}

// seriesListing is a page of series, which nobody changes once it is remembered.
type seriesListing struct {
	state string // of the workspace, from before the page was read
	list  []Series
	total int64
	more  bool
}

func (l *seriesListing) bytes() int {
	bytes := 0
	for i := range l.list {
		s := &l.list[i]
		bytes += seriesBytes + len(s.Metric)
		for key, value := range s.Tags {
			bytes += tagBytes + len(key) + len(value)
		}
	}
	return bytes
}

// seriesState returns a text that is another one whenever the workspace's series, or which of
// its sources stand, have changed: anyone who changes them writes the workspace's row in the
// same transaction, where they are counted. A workspace that is not there has none.
func seriesState(ctx context.Context, q *pgxpool.Conn, workspace uuid.UUID) (state string, err error) {
	err = q.QueryRow(ctx, `SELECT xmin::text || ctid::text FROM workspaces WHERE id = $1`, workspace).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return state, err
}

// key returns what a page is remembered by; "" for one that is not: by what sources are called
// or belong to, which changes without the workspace's row, and after a position, where
// hardly anybody goes twice.
func (f *SeriesFilter) key(workspace uuid.UUID, page SeriesPage) string {
	if f.SourceName != nil || f.NodeID != nil || page.After != nil {
		return ""
	}
	key := fmt.Sprintf(
		"%s %t %s %t %q %q %d %d", workspace, f.Sources == nil, f.Sources, f.Metrics == nil, f.Metrics, f.Tags, page.Limit,
		page.Offset,
	)
	if len(key) > longestSeriesKey {
		return ""
	}
	return key
}
