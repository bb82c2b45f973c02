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

// Maximum numbers of edges and series per node in a response.
const (
	maxEdgesOfHit  = 100
	maxSeriesOfHit = 100
)

const (
	// degradedLiveData is the value in meta.degraded if the store of points is unavailable.
	degradedLiveData = "liveData"
	// degradedGeneration is the value in meta.degraded if the chat model did not write an answer.
	degradedGeneration = "generation"
	liveDataTimeout    = 2 * time.Second
)

// edgeStore reads edges.
type edgeStore interface {
	InducedEdges(ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID, relationTypes []string) ([]graph.Edge, error)
}

// seriesStore reads the registry of series.
type seriesStore interface {
	deleted.Store
	SeriesOfNodes(
		ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID, limit int,
	) (map[uuid.UUID][]registry.Series, error)
}

// pointStore reads points.
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

// addEdges adds to each hit the edges between its node and other nodes of the page.
func (a *api) addEdges(ctx context.Context, workspace uuid.UUID, relationTypes []string, hits []hybridHit) error {
	edges, err := a.Edges.InducedEdges(ctx, workspace, idsOf(hits), relationTypes)
	if err != nil {
		return err
	}
	byNode := map[uuid.UUID][]graphjson.Edge{}
	add := func(node uuid.UUID, e *graph.Edge) {
		if len(byNode[node]) < maxEdgesOfHit {
			byNode[node] = append(byNode[node], graphjson.OfEdge(e))
		}
	}
	for i := range edges {
		add(edges[i].SourceID, &edges[i])
		if edges[i].TargetID != edges[i].SourceID {
			add(edges[i].TargetID, &edges[i])
		}
	}
	for i := range hits {
		nodeEdges := append([]graphjson.Edge{}, byNode[hits[i].Node.ID]...)
		hits[i].Edges = &nodeEdges
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

// liveDataOf returns the newest values of the sources of each node. If they cannot be read, it returns an error, and
// a list without values for each node.
func (a *api) liveDataOf(ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID) ([]*[]liveValue, error) {
	ctx, cancel := context.WithTimeout(ctx, liveDataTimeout)
	defer cancel()
	values := make([]*[]liveValue, len(nodes))
	for i := range values {
		values[i] = &[]liveValue{}
	}
	series, err := a.Series.SeriesOfNodes(ctx, workspace, nodes, maxSeriesOfHit)
	if err == nil {
		err = a.readLatest(ctx, workspace, series, nodes, values)
	}
	if err != nil {
		slog.WarnContext(ctx, "nodes are shown without their live data", "error", err)
	}
	return values, err
}

// readLatest adds the newest values of the series of the nodes to their lists.
func (a *api) readLatest(
	ctx context.Context, workspace uuid.UUID, series map[uuid.UUID][]registry.Series, nodes []uuid.UUID,
	values []*[]liveValue,
) error {
	query := timeseries.LatestQuery{Workspace: workspace, KeptFrom: timeseries.KeptFrom{}}
	type target struct { // where to add the value of a queried series
		values *[]liveValue
		series *registry.Series
	}
	var targets []target
	now := time.Now()
	for i, node := range nodes {
		list := series[node]
		for j := range list {
			s := &list[j]
			targets = append(targets, target{values[i], s})
			query.Series = append(query.Series, timeseries.LatestSeries{
				ID: s.ID, Source: s.SourceID, IsString: s.Kind == pointblock.KindString,
			})
			if s.RetentionDays != nil {
				query.KeptFrom[s.ID] = registry.KeptFrom(now, *s.RetentionDays)
			}
		}
	}
	var allSeries []registry.Series
	for _, list := range series {
		allSeries = append(allSeries, list...)
	}
	var err error
	if query.Hidden, err = deleted.Exclusions(ctx, a.Series, workspace, allSeries); err != nil {
		return err
	}
	found, err := a.Points.LatestPoints(ctx, query)
	if err != nil {
		return err
	}
	for i, points := range found {
		if points != nil {
			*targets[i].values = append(*targets[i].values, liveValueOf(targets[i].series, points))
		}
	}
	return nil
}

func liveValueOf(s *registry.Series, points *timeseries.Points) liveValue {
	v := liveValue{
		SourceID: s.SourceID, SourceName: s.SourceName, Metric: s.Metric, Unit: s.Unit, Tags: s.Tags,
		Timestamp: time.UnixMicro(points.TS[0]).UTC(),
	}
	if column := points.Columns[0]; column.Strings != nil {
		v.Value = *column.Strings[0]
	} else {
		v.Value = column.Numbers[0]
	}
	return v
}
