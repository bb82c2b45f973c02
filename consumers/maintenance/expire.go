package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// retentionPage is the number of sources that are read at once.
const retentionPage = 1000

// expire removes points that are past their retention from the store: first entire parts, then
// rows source by source.
func (u *Runner) expire(ctx context.Context) error {
	if err := u.dropParts(ctx); err != nil {
		return err
	}
	removed, err := u.expireSources(ctx)
	u.metrics.expired.Add(float64(removed))
	if removed > 0 {
		u.Logger.Info("points past their retention are removed", "rows", removed)
	}
	if err != nil {
		return err
	}
	if _, err := u.Points.Reclaim(ctx, pause); err != nil {
		return err
	}
	u.metrics.lastExpiry.Set(float64(u.Config.Now().Unix()))
	return nil
}

// dropParts drops the parts that contain only points past their retention: if every source has a
// retention, the parts that end before the longest one begins. The parts are listed before the
// retentions are read, so that all of their rows belong to sources that were read. A part that
// is written or merged meanwhile has a different name.
func (u *Runner) dropParts(ctx context.Context) error {
	parts, err := u.Points.Parts(ctx, u.Config.Now().UnixMicro())
	if err != nil || len(parts) == 0 {
		return err
	}
	days, all, err := u.Registry.LongestRetention(ctx)
	if err != nil || !all {
		return err
	}
	from := registry.KeptFrom(u.Config.Now(), days)
	for _, part := range parts {
		if part.EndUS > from {
			continue
		}
		began := time.Now()
		dropped, err := u.Points.DropPart(ctx, part)
		if err != nil {
			return err
		}
		if dropped {
			u.metrics.expired.Add(float64(part.Rows))
			u.Logger.Info(
				"a part with nothing but old points is dropped", "table", part.Table, "part", part.Name, "rows", part.Rows,
			)
		}
		if err := pause(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

// expireSources removes rows of the sources that have a retention. Sources of a page with the
// same number of days are processed together.
func (u *Runner) expireSources(ctx context.Context) (removed int64, err error) {
	var last registry.SourceRetention
	for {
		page, err := u.Registry.SourceRetentions(ctx, last, retentionPage)
		if err != nil {
			return removed, err
		}
		byDays := map[int32][]clickhouse.SourceID{}
		for _, s := range page {
			byDays[s.Days] = append(byDays[s.Days], clickhouse.SourceID{Workspace: s.Workspace, Source: s.Source})
		}
		for days, sources := range byDays {
			n, err := u.Points.Expire(ctx, sources, registry.KeptFrom(u.Config.Now(), days), pause)
			removed += n
			if err != nil {
				return removed, fmt.Errorf("removing old points: %w", err)
			}
		}
		if len(page) < retentionPage {
			return removed, nil
		}
		last = page[len(page)-1]
	}
}
