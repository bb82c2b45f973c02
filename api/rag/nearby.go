package rag

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/deleted"
	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// What is shown with a node that was found, at most.
const (
	maxEdgesOfHit  = 100
	maxSeriesOfHit = 100
)

const (
	// degradedLiveData says in meta.degraded that the store of points is unavailable.
	degradedLiveData = "liveData"
	liveDataTimeout  = 2 * time.Second
)

// edgeStore is where the edges are.
type edgeStore interface {
	EdgesAmong(ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID, relationTypes []string) ([]graph.Edge, error)
}

// seriesStore is the registry of series.
type seriesStore interface {
	deleted.Store
	SeriesOfNodes(
		ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID, most int,
	) (map[uuid.UUID][]registry.Series, error)
}

// pointStore is where points are.
type pointStore interface {
	LatestPoints(ctx context.Context, q timeseries.LatestQuery) ([]*timeseries.Points, error)
}

func idsOf(hits []hybridHit) []uuid.UUID {
	ids := make([]uuid.UUID, len(hits))
	for i := range hits {
		ids[i] = hits[i].Node.ID
	}
	return ids
}

// addEdges shows with each node its edges with other nodes of the page.
func (a *api) addEdges(ctx context.Context, workspace uuid.UUID, relationTypes []string, hits []hybridHit) error {
	among, err := a.Edges.EdgesAmong(ctx, workspace, idsOf(hits), relationTypes)
	if err != nil {
		return err
	}
	of := map[uuid.UUID][]graphjson.Edge{}
	show := func(node uuid.UUID, e *graph.Edge) {
		if len(of[node]) < maxEdgesOfHit {
			of[node] = append(of[node], graphjson.OfEdge(e))
		}
	}
	for i := range among {
		show(among[i].SourceID, &among[i])
		if among[i].TargetID != among[i].SourceID {
			show(among[i].TargetID, &among[i])
		}
	}
	for i := range hits {
		edges := append([]graphjson.Edge{}, of[hits[i].Node.ID]...)
		hits[i].Edges = &edges
	}
	return nil
}

// liveValue is the newest value of a series of a source that is linked to a node.
type liveValue struct {
	SourceID   uuid.UUID         `json:"sourceId"`
	SourceName string            `json:"sourceName"`
	Metric     string            `json:"metric"`
	Unit       *string           `json:"unit"`
	Tags       map[string]string `json:"tags"`
	Timestamp  time.Time         `json:"timestamp"`
	Value      any               `json:"value"` // a number or a string
}

// addLiveData shows with each node the newest values of its sources. When they cannot
// be read every node has none, and the caller says so: what was found stands.
func (a *api) addLiveData(ctx context.Context, workspace uuid.UUID, hits []hybridHit) error {
	ctx, cancel := context.WithTimeout(ctx, liveDataTimeout)
	defer cancel()
	for i := range hits {
		hits[i].LiveData = &[]liveValue{}
	}
	series, err := a.Series.SeriesOfNodes(ctx, workspace, idsOf(hits), maxSeriesOfHit)
	if err == nil {
		err = a.readLatest(ctx, workspace, series, hits)
	}
	if err != nil {
		slog.WarnContext(ctx, "nodes are shown without their live data", "error", err)
	}
	return err
}

func (a *api) readLatest(
	ctx context.Context, workspace uuid.UUID, series map[uuid.UUID][]registry.Series, hits []hybridHit,
) error {
	ask := timeseries.LatestQuery{Workspace: workspace, Kept: timeseries.Kept{}}
	type shown struct { // with each of the series that are asked for
		values *[]liveValue
		series *registry.Series
	}
	var places []shown
	now := time.Now()
	for i := range hits {
		list := series[hits[i].Node.ID]
		for j := range list {
			s := &list[j]
			places = append(places, shown{hits[i].LiveData, s})
			ask.Series = append(ask.Series, timeseries.LatestSeries{
				ID: s.ID, Source: s.SourceID, Texts: s.Kind == pointblock.KindString,
			})
			if s.RetentionDays != nil {
				ask.Kept[s.ID] = registry.KeptFrom(now, *s.RetentionDays)
			}
		}
	}
	var asked []registry.Series
	for _, list := range series {
		asked = append(asked, list...)
	}
	var err error
	if ask.Hidden, err = deleted.Of(ctx, a.Series, workspace, asked); err != nil {
		return err
	}
	found, err := a.Points.LatestPoints(ctx, ask)
	if err != nil {
		return err
	}
	for i, points := range found {
		if points != nil {
			*places[i].values = append(*places[i].values, liveValueOf(places[i].series, points))
		}
	}
	return nil
}

func liveValueOf(s *registry.Series, points *timeseries.Points) liveValue {
	v := liveValue{
		SourceID: s.SourceID, SourceName: s.SourceName, Metric: s.Metric, Unit: s.Unit, Tags: s.Tags,
		Timestamp: time.UnixMicro(points.TS[0]).UTC(),
	}
	if column := points.Columns[0]; column.Texts != nil {
		v.Value = *column.Texts[0]
	} else {
		v.Value = column.Numbers[0]
	}
	return v
}
