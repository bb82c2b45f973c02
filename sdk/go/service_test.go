package livegraph_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

// service returns a client of a running service, whose workspace the test may change, with an admin key. test/sdk
// starts the service.
func service(t *testing.T) *livegraph.Client {
	t.Helper()
	if os.Getenv("LIVEGRAPH_URL") == "" {
		t.Skip("LIVEGRAPH_URL is not set: test/sdk starts a service")
	}
	client, err := livegraph.FromEnvironment()
	noError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func unique(name string) string { return name + " " + rand.Text() }

func TestServiceSources(t *testing.T) {
	client, ctx := service(t), t.Context()
	created, err := client.Sources.Create(ctx, livegraph.NewSource{
		Name: unique("source"), Unit: "°C", Tags: map[string]string{"room": "cellar", "floor": "1"}, IntervalSeconds: 2.5,
	})
	noError(t, err)
	check(t, created.Unit == "°C" && *created.IntervalSeconds == 2.5 && created.LastSeenAt.IsZero(), "%+v", created)
	_, err = client.Sources.Create(ctx, livegraph.NewSource{Name: created.Name})
	var api *livegraph.APIError
	check(t, errors.Is(err, livegraph.ErrConflict) && errors.As(err, &api) && api.RequestID != "", "%v", err)
	again, isNew, err := client.Sources.Ensure(ctx, livegraph.NewSource{Name: created.Name})
	noError(t, err)
	check(t, again.ID == created.ID && !isNew, "%+v", again)
	page, err := client.Sources.List(ctx, livegraph.SourceFilter{
		Name: strings.ToUpper(created.Name[10:]), Tags: livegraph.Where("room", "cellar", "hall"), Sort: "-createdAt",
	}, livegraph.Paging{Limit: 1})
	noError(t, err)
	equal(t, created.ID, page.Items[0].ID)
	changed, err := client.Sources.Update(ctx, created.ID, livegraph.SourcePatch{
		Tags: livegraph.Set(map[string]*string{"room": nil}), Unit: livegraph.Null[string](),
	}, livegraph.IfVersion(1))
	noError(t, err)
	check(t, changed.Unit == "" && len(changed.Tags) == 1 && changed.Version == 2, "%+v", changed)
	inKelvin := livegraph.SourcePatch{Unit: livegraph.Set("K")}
	_, err = client.Sources.Update(ctx, created.ID, inKelvin, livegraph.IfVersion(1))
	check(t, errors.As(err, &api) && api.Details.ActualVersion == 2, "%v", err)
	noError(t, client.Sources.Delete(ctx, created.ID))
	_, err = client.Sources.Get(ctx, created.ID)
	check(t, errors.Is(err, livegraph.ErrNotFound), "%v", err)
}

func TestServicePoints(t *testing.T) {
	client, ctx := service(t), t.Context()
	source, err := client.Sources.Create(ctx, livegraph.NewSource{Name: unique("source")})
	noError(t, err)
	start := time.Now().UTC().Truncate(time.Second).Add(-10 * time.Minute)
	rows, err := client.Points.Write(ctx, []livegraph.Point{
		{Metric: "a", Value: 1, Timestamp: start, Tags: map[string]string{"k": "v"}},
	}, livegraph.WriteOptions{Source: source.Name})
	noError(t, err)
	columns, err := client.Points.WriteSeries(ctx, []livegraph.PointSeries{{
		Metric: "b", Timestamps: []any{start.Unix(), start.Unix() + 60, start.Unix() + 61}, Values: []any{1, 2.5, 4},
	}}, livegraph.WriteOptions{Source: source.Name, Precision: livegraph.PrecisionS})
	noError(t, err)
	name := strings.ReplaceAll(source.Name, " ", `\ `)
	line := fmt.Appendf(nil, "%s word=\"on\" %d", name, start.Unix())
	lines, err := client.Points.WriteLines(ctx, line, livegraph.LineOptions{Precision: "s"})
	noError(t, err)
	dead, err := client.WaitVisible(ctx, rows.Checkpoint, columns.Checkpoint, lines.Checkpoint)
	noError(t, err)
	equal(t, 0, dead)

	within := livegraph.PointQuery{
		SeriesFilter: livegraph.SeriesFilter{Source: source.Name},
		From:         livegraph.At(start), To: livegraph.At(start.Add(time.Hour)),
	}
	all, err := livegraph.Collect(client.Points.All(ctx, within))
	noError(t, err)
	equal(t, 3, len(all))
	index := slices.IndexFunc(all, func(r livegraph.PointRows) bool { return r.Metric == "b" })
	times, values := all[index].Numbers("value")
	equal(t, []float64{1, 2.5, 4}, values)
	equal(t, start.Add(time.Minute), times[1])
	within.Metrics, within.Interval = []string{"b"}, "1m"
	page, err := client.Points.Aggregate(ctx, within, livegraph.Paging{}, "avg", "max")
	noError(t, err)
	_, values = page.Items[0].Numbers("max")
	check(t, slices.Equal(values, []float64{1, 4}) && page.Interval == "1m", "%+v", page)
	latest, err := client.Points.Latest(ctx, livegraph.PointQuery{SeriesFilter: within.SeriesFilter}, livegraph.Paging{})
	noError(t, err)
	equal(t, "4", latest.Items[0].Text(0, "value"))
	series, err := livegraph.Collect(client.Points.Series(ctx, livegraph.SeriesFilter{SourceIDs: []string{source.ID}}))
	noError(t, err)
	equal(t, 3, len(series))
	points := []livegraph.Point{{Metric: "a", Value: 1}}
	_, err = client.Points.Write(ctx, points, livegraph.WriteOptions{Source: "no such"})
	var api *livegraph.APIError
	check(t, errors.As(err, &api) && api.Details.Rejected == 1 && len(api.Details.Errors) == 1, "%v", err)
	deleted, err := client.Points.Delete(ctx, source.ID, livegraph.PointRange{Metric: "b"})
	noError(t, err)
	_, err = client.WaitVisible(ctx, deleted.Checkpoint)
	noError(t, err)
	series, err = livegraph.Collect(client.Points.Series(ctx, livegraph.SeriesFilter{SourceIDs: []string{source.ID}}))
	noError(t, err)
	check(t, len(series) >= 2 && !slices.ContainsFunc(series, func(s livegraph.Series) bool {
		return s.Metric == "b" && s.Count > 0
	}), "%+v", series)
}

func TestServiceWriterAndStreamOfPoints(t *testing.T) {
	client, ctx := service(t), t.Context()
	source, err := client.Sources.Create(ctx, livegraph.NewSource{Name: unique("source")})
	noError(t, err)
	stream := client.Points.Stream(livegraph.SeriesFilter{SourceIDs: []string{source.ID}}, "")
	noError(t, stream.Open(ctx))
	writer, err := client.NewWriter(livegraph.WriterOptions{BatchSize: 100})
	noError(t, err)
	const count = 1000
	for i := range count {
		noError(t, writer.Write(ctx, livegraph.Point{Source: source.Name, Metric: "m", Value: i}))
	}
	noError(t, writer.Close(ctx))
	equal(t, livegraph.WriterStats{Written: count, Stored: count}, writer.Stats())
	received := map[float64]bool{}
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for event, err := range stream.Events(bounded) {
		noError(t, err)
		rows, err := event.Points()
		noError(t, err)
		for i := range rows {
			_, values := rows[i].Numbers("value")
			for _, value := range values {
				received[value] = true
			}
		}
		if len(received) == count {
			break
		}
	}
	check(t, stream.LastID() != "", "the stream has no position")
}

func TestServiceGraph(t *testing.T) {
	client, ctx := service(t), t.Context()
	site := rand.Text()
	pump, err := client.Nodes.Create(ctx, livegraph.NewNode{
		Name: "Pump", EntityType: livegraph.EntityTypeObject, Description: "moves water",
		Properties: livegraph.Properties{"site": site, "kW": 11, "serial": json.Number("9007199254740993")},
	})
	noError(t, err)
	check(t, pump.Properties["kW"] == 11.0 && pump.Properties["serial"] == json.Number("9007199254740993"), "%+v", pump)
	hall, err := client.Nodes.Create(ctx, livegraph.NewNode{Name: "Hall", EntityType: livegraph.EntityTypeConcept})
	noError(t, err)
	edge, err := client.Edges.Create(ctx, livegraph.NewEdge{
		SourceID: pump.ID, TargetID: hall.ID, RelationType: "located in",
	})
	noError(t, err)
	changed, err := client.Nodes.Update(ctx, pump.ID, livegraph.NodePatch{
		Description: livegraph.Null[string](), Properties: livegraph.Set(map[string]any{"kW": nil}),
	}, livegraph.IfVersion(1))
	noError(t, err)
	check(t, changed.Description == "" && len(changed.Properties) == 2 && changed.Version == 2, "%+v", changed)
	_, err = client.Nodes.Update(ctx, pump.ID, livegraph.NodePatch{Name: livegraph.Set("x")}, livegraph.IfVersion(1))
	var api *livegraph.APIError
	check(t, errors.As(err, &api) && api.Details.ExpectedVersion == 1 && api.Details.ActualVersion == 2, "%v", err)
	moved, err := client.Edges.Update(ctx, edge.ID, livegraph.EdgePatch{RelationType: livegraph.Set("is in")})
	noError(t, err)
	equal(t, 2, moved.Version)
	edges, err := livegraph.Collect(client.Edges.All(ctx, livegraph.EdgeFilter{NodeIDs: []string{hall.ID}}))
	noError(t, err)
	equal(t, "is in", edges[0].RelationType)
	neighbors, err := client.Nodes.Neighbors(ctx, hall.ID, livegraph.NeighborFilter{
		Direction: livegraph.DirectionIn, Depth: 2,
	}, livegraph.Paging{})
	noError(t, err)
	check(t, neighbors.Items[0].Node.ID == pump.ID && !neighbors.Truncated, "%+v", neighbors)
	paths, err := client.Nodes.Paths(ctx, hall.ID, pump.ID, livegraph.PathOptions{
		Limit: 5, RelationTypes: []string{"is in"},
	})
	noError(t, err)
	check(t, len(paths.Items) == 1 && paths.Items[0].Length == 1 && paths.Items[0].Cost == nil, "%+v", paths)

	around, err := client.Nodes.Subgraph(ctx, []string{hall.ID}, livegraph.SubgraphOptions{Limit: 10})
	noError(t, err)
	check(t, len(around.Nodes) == 2 && around.Edges[0].ID == edge.ID && !around.Truncated, "%+v", around)
	matches, err := client.Nodes.Match(ctx, livegraph.Pattern{
		Nodes: map[string]livegraph.PatternNode{"hall": {NodeIDs: []string{hall.ID}}, "pump": {}},
		Edges: []livegraph.PatternEdge{{From: "pump", To: "hall", RelationTypes: []string{"is in"}}},
	})
	noError(t, err)
	check(t, len(matches.Matches) == 1 && !matches.Truncated, "%+v", matches)
	equal(t, pump.ID, matches.Matches[0].Nodes["pump"])
	counts, err := client.GraphCounts(ctx, 1)
	noError(t, err)
	check(t, counts.Nodes.Total >= 2 && len(counts.Edges.Types) == 1, "%+v", counts)
	deleted, err := client.Nodes.Delete(ctx, pump.ID)
	noError(t, err)
	before := livegraph.AsOf{Sequence: int(*deleted.Sequence) - 1}
	past, err := client.Nodes.GetAsOf(ctx, pump.ID, before)
	noError(t, err)
	check(t, past.ID == pump.ID && past.AsOfSequence == int64(before.Sequence), "%+v", past)
	pastEdge, err := client.Edges.GetAsOf(ctx, edge.ID, before)
	noError(t, err)
	equal(t, "is in", pastEdge.RelationType)
	neighbors, err = client.Nodes.Neighbors(ctx, hall.ID, livegraph.NeighborFilter{AsOf: before}, livegraph.Paging{})
	noError(t, err)
	equal(t, pump.ID, neighbors.Items[0].Node.ID)
	part, err := client.Nodes.Subgraph(ctx, []string{hall.ID}, livegraph.SubgraphOptions{AsOf: before})
	noError(t, err)
	check(t, len(part.Edges) == 1 && part.AsOfSequence == int64(before.Sequence), "%+v", part)
	equal(t, []string{edge.ID}, deleted.Affected.Edges)
	for cascade, err := range client.Changes.AllEdges(ctx, *deleted.Sequence) {
		noError(t, err)
		equal(t, []string{edge.ID}, cascade.Edges)
	}
	_, err = client.Commands.Undo(ctx, livegraph.UndoTarget{CommandID: deleted.CommandID})
	noError(t, err)
	_, err = client.Commands.Redo(ctx, livegraph.UndoTarget{})
	noError(t, err)
	_, err = client.Commands.Undo(ctx, livegraph.UndoTarget{})
	noError(t, err)
	state, err := client.Commands.Get(ctx, deleted.CommandID)
	noError(t, err)
	equal(t, "applied", state.Status)
	_, err = client.Edges.Delete(ctx, edge.ID)
	noError(t, err)
	changes, err := livegraph.Collect(client.Changes.All(ctx, pump.ID))
	noError(t, err)
	equal(t, "CREATE_NODE", changes[len(changes)-1].Type)
}

func TestServiceUpserts(t *testing.T) {
	client, ctx := service(t), t.Context()
	key := map[string]any{"serial": rand.Text()}
	keyed := &livegraph.KeyedNode{Key: key, EntityType: livegraph.EntityTypeObject}
	pump := livegraph.NodeUpsert{Key: key, EntityType: livegraph.EntityTypeObject}
	edge := livegraph.UpsertEdge(livegraph.EdgeUpsert{Source: keyed, Target: keyed, RelationType: "feeds"})
	done, err := client.Commands.Batch(ctx, []livegraph.Command{livegraph.UpsertNode(pump), edge, edge}, true)
	noError(t, err)
	equal(t, livegraph.UpsertEffectCreated, done.Results[0].Data.Effect)
	equal(t, livegraph.UpsertEffectUnchanged, done.Results[2].Data.Effect)
	pump.Name = livegraph.Set("Pump")
	changed, err := client.Commands.Execute(ctx, livegraph.UpsertNode(pump))
	noError(t, err)
	equal(t, livegraph.UpsertEffectUpdated, changed.Effect)
	equal(t, "Pump", changed.Node.Name)
}

func TestServiceBatchesAndPages(t *testing.T) {
	client, ctx := service(t), t.Context()
	site := rand.Text()
	var batch []livegraph.Command
	for i := range 230 {
		batch = append(batch, livegraph.CreateNode(livegraph.NewNode{
			Name: fmt.Sprint("node ", i), EntityType: livegraph.EntityTypeProcess,
			Properties: livegraph.Properties{"site": site},
		}))
	}
	_, err := client.Commands.Batch(ctx, batch, true)
	noError(t, err)
	filter := livegraph.NodeFilter{ResourceFilter: livegraph.ResourceFilter{Properties: livegraph.Where("site", site)}}
	ids := map[string]bool{}
	for node, err := range client.Nodes.All(ctx, filter) {
		noError(t, err)
		ids[node.ID] = true
	}
	equal(t, 230, len(ids))
	page, err := client.Nodes.List(ctx, filter, livegraph.Paging{Offset: 200})
	noError(t, err)
	check(t, len(page.Items) == 30 && page.Total == 230 && !page.HasMore, "%+v", page.PageMeta)

	result, err := client.Commands.Batch(ctx, []livegraph.Command{
		batch[0], livegraph.DeleteNode("0194a5b0-0000-7000-8000-00000000000a").IfVersion(1),
	}, false)
	noError(t, err)
	noError(t, result.Results[0].Error.Err())
	check(t, errors.Is(result.Results[1].Error.Err(), livegraph.ErrNotFound), "%+v", result.Results[1])

	key := livegraph.WithIdempotencyKey(rand.Text())
	first, err := client.Commands.Execute(ctx, batch[0], key)
	noError(t, err)
	second, err := client.Commands.Execute(ctx, batch[0], key)
	noError(t, err)
	check(t, first.CommandID == second.CommandID && first.Node.ID == second.Node.ID, "%+v, %+v", first, second)
}

func TestServiceStreamOfChangesIsResumed(t *testing.T) {
	client, ctx := service(t), t.Context()
	stream := client.Changes.Stream()
	noError(t, stream.Open(ctx))
	node, err := client.Nodes.Create(ctx, livegraph.NewNode{Name: "streamed", EntityType: livegraph.EntityTypeConcept})
	noError(t, err)
	next := func() *livegraph.Node {
		for event, err := range stream.Events(ctx) {
			noError(t, err)
			got, err := event.Change()
			noError(t, err)
			if got.Node != nil && got.Node.ID == node.ID {
				return got.Node
			}
		}
		return nil
	}
	equal(t, "streamed", next().Name)
	_, err = client.Nodes.Update(ctx, node.ID, livegraph.NodePatch{Name: livegraph.Set("changed")})
	noError(t, err)
	equal(t, "changed", next().Name)
	for event, err := range client.Changes.StreamAfter(1 << 40).Events(ctx) {
		noError(t, err)
		gap, err := event.Gap()
		noError(t, err)
		check(t, event.Type == "reset" && gap.Reason == "beyond_newest" && event.ID == fmt.Sprint(gap.Newest), "%+v", gap)
		break
	}
}

func TestServiceDocumentsAndSearch(t *testing.T) {
	client, ctx := service(t), t.Context()
	external := "notes/" + rand.Text() + ".md"
	document := livegraph.NewDocument{
		ExternalID: external, ContentType: "text/markdown",
		Text: "# Compressor\n\nThe compressor in the attic supplies the paint shop with compressed air.",
	}
	for _, status := range []string{"created", "unchanged"} {
		results, err := client.Documents.Put(ctx, document)
		noError(t, err)
		equal(t, status, results[0].Status)
	}
	found, err := client.Documents.Get(ctx, external)
	noError(t, err)
	equal(t, "Compressor", found.Title)
	eventually(t, func() bool {
		hits, err := client.Search.Nodes(ctx, livegraph.SearchQuery{Query: "who supplies air?", GroupBy: "document"})
		noError(t, err)
		return slices.ContainsFunc(hits.Items, func(hit livegraph.SearchHit) bool {
			return hit.Document != nil && hit.Document.ExternalID == external
		})
	}, "the document is not found")
	hits, err := client.Search.Hybrid(ctx, livegraph.HybridQuery{
		Query: "compressor", Hops: new(1), Explain: true, Facets: []livegraph.FacetName{livegraph.FacetNameEntityType},
	})
	noError(t, err)
	check(t, len(hits.Facets.EntityType.Values) > 0 && hits.Facets.Tags == nil, "%+v", hits.Facets)
	check(t, hits.Items[0].Score == 1 && len(hits.Items[0].Explanation) > 0, "%+v", hits.Items[0])
	answer, err := client.Search.Answer(ctx, livegraph.AnswerQuery{Query: "who supplies compressed air?", MaxSentences: 1})
	noError(t, err)
	equal(t, "The compressor in the attic supplies the paint shop with compressed air. [1]", answer.Answer)
	equal(t, external, answer.Citations[0].Document.ExternalID)
	status, err := client.Search.IndexStatus(ctx)
	noError(t, err)
	check(t, status.Model != nil && status.Model.Dimensions > 0, "%+v", status)
	deleted, err := client.Documents.Delete(ctx, external)
	noError(t, err)
	_, err = client.Documents.Get(ctx, external)
	check(t, errors.Is(err, livegraph.ErrNotFound), "%v", err)
	_, err = client.Commands.Undo(ctx, livegraph.UndoTarget{CommandID: deleted.CommandID})
	noError(t, err)
	listed, err := livegraph.Collect(client.Documents.All(ctx, livegraph.DocumentFilter{}))
	noError(t, err)
	check(t, slices.ContainsFunc(listed, func(d livegraph.Document) bool {
		return d.ExternalID == external
	}), "the document is not restored")
}

func TestServicePromQL(t *testing.T) {
	client, ctx := service(t), t.Context()
	now := time.Now()
	options := livegraph.PromOptions{Time: now, Timeout: 10 * time.Second}
	result, err := client.Prometheus.Query(ctx, "vector(3) * 2", options)
	noError(t, err)
	vector, err := result.Vector()
	noError(t, err)
	equal(t, 6.0, vector[0].Point.Value)
	result, err = client.Prometheus.QueryRange(ctx, "vector(2)", livegraph.PromRange{
		Start: now.Add(-time.Minute), End: now, Step: 15 * time.Second,
	}, livegraph.PromOptions{})
	noError(t, err)
	matrix, err := result.Matrix()
	noError(t, err)
	equal(t, 5, len(matrix[0].Points))
	_, err = client.Prometheus.Query(ctx, "sum(", livegraph.PromOptions{})
	var api *livegraph.APIError
	check(t, errors.As(err, &api) && api.Code == "bad_data" && api.RequestID != "", "%v", err)
	account, err := client.Account(ctx)
	noError(t, err)
	check(t, slices.Contains(account.Scopes, livegraph.ScopeAdmin), "%+v", account)
}
