package query

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/deleted"
	"github.com/livegraph/livegraph/api/livedata/selector"
	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// seriesAnswer is a series with its statistics.
type seriesAnswer struct {
	ID         string            `json:"id"`
	SourceID   uuid.UUID         `json:"sourceId"`
	SourceName string            `json:"sourceName"`
	Metric     string            `json:"metric"`
	Kind       string            `json:"kind"`
	Unit       *string           `json:"unit"`
	Tags       map[string]string `json:"tags"`
	FirstSeen  *time.Time        `json:"firstSeen"` // timestamps of the oldest and newest point
	LastSeen   *time.Time        `json:"lastSeen"`
	Count      int64             `json:"count"`
}

// seriesColumns are the columns of a list of series. Those that points have too have the same types.
var seriesColumns = columns.List[seriesAnswer]{
	columns.Text("id", func(s *seriesAnswer) string { return s.ID }),
	columns.Names("sourceId", func(s *seriesAnswer) string { return s.SourceID.String() }),
	columns.Names("sourceName", func(s *seriesAnswer) string { return s.SourceName }),
	columns.Names("metric", func(s *seriesAnswer) string { return s.Metric }),
	columns.Names("kind", func(s *seriesAnswer) string { return s.Kind }),
	columns.OptionalNames("unit", func(s *seriesAnswer) *string { return s.Unit }),
	columns.Text("tags", func(s *seriesAnswer) string { return string(appendTags(nil, s.Tags)) }),
	columns.OptionalTime("firstSeen", func(s *seriesAnswer) *time.Time { return s.FirstSeen }),
	columns.OptionalTime("lastSeen", func(s *seriesAnswer) *time.Time { return s.LastSeen }),
	columns.Int("count", func(s *seriesAnswer) int64 { return s.Count }),
}

// listSeries lists series, sorted by source, metric and id, with their statistics.
func (a *api) listSeries(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	filter := selector.Read(p)
	format := columns.ReadFormat(p, r.Header, columns.JSON, columns.Arrow, columns.Parquet)
	var page registry.SeriesPage
	var cursor string
	page.Limit, page.Offset, cursor = p.PagingUpTo(format.MaxLimit())
	if err := p.Err(); err != nil {
		return err
	}
	format.Vary(w.Header())
	workspace := request.PrincipalOf(r.Context()).Workspace
	scope := token.ScopeOf("series", workspace, filter)
	if cursor != "" {
		page.After = &registry.SeriesPosition{}
		if err := a.sealer.ReadCursor(cursor, scope, page.After); err != nil {
			return err
		}
	}
	if format.IsColumns() {
		values, err := a.reserve(int64(page.Limit) * valuesPerSeries)
		if err != nil {
			return err
		}
		defer values.Release()
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	list, total, more, err := a.Series.Series(ctx, workspace, filter, page)
	if err != nil {
		return explainTimeout(err, a.QueryTimeout)
	}
	answers, err := a.describeSeries(ctx, workspace, list)
	if err != nil {
		return err
	}
	meta := reply.Meta{Total: total, Limit: page.Limit, Offset: page.Offset, HasMore: more}
	if more {
		next, err := a.sealer.Cursor(scope, list[len(list)-1].Position())
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	if format.IsColumns() {
		seriesColumns.Write(w, format, answers, reply.NextPage(r.URL, meta.NextCursor))
		return nil
	}
	reply.List(w, r, answers, meta)
	return nil
}

func (a *api) describeSeries(ctx context.Context, workspace uuid.UUID, list []registry.Series) ([]seriesAnswer, error) {
	groups := groupEach(list)
	numbers, _ := byKind(groups, pointblock.KindNumber)
	texts, _ := byKind(groups, pointblock.KindString)
	hidden, err := deleted.Exclusions(ctx, a.Series, workspace, list)
	if err != nil {
		return nil, explainTimeout(err, a.QueryTimeout)
	}
	stats, err := a.Points.SeriesStats(ctx, numbers, texts, registry.KeptFromEach(list, time.Now()), hidden)
	if err != nil {
		return nil, explainLimits(err, a.QueryTimeout)
	}
	answers := make([]seriesAnswer, len(list))
	for i, s := range list {
		answers[i] = seriesAnswer{
			ID: strconv.FormatUint(s.ID, 10), SourceID: s.SourceID, SourceName: s.SourceName, Metric: s.Metric,
			Kind: value.KindName(s.Kind), Unit: s.Unit, Tags: s.Tags,
		}
		if found, ok := stats[s.ID]; ok {
			answers[i].setStats(found)
		}
	}
	return answers, nil
}

func (s *seriesAnswer) setStats(stats timeseries.SeriesStats) {
	first, last := time.UnixMicro(stats.FirstUS).UTC(), time.UnixMicro(stats.LastUS).UTC()
	s.FirstSeen, s.LastSeen, s.Count = &first, &last, stats.Count
}
