package livegraph_test

import (
	"errors"
	"slices"
	"testing"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

func TestServiceSavedQueries(t *testing.T) {
	client, ctx := service(t), t.Context()
	name := unique("pumps")
	_, err := client.SavedQueries.Create(ctx, livegraph.NewSavedQuery{
		Name: name, Kind: livegraph.SavedQueryKindSearch, Request: map[string]any{"query": ""},
	})
	var api *livegraph.APIError
	check(t, errors.Is(err, livegraph.ErrInvalid), "%v", err)
	check(t, errors.As(err, &api) && api.Details.Field == "request.query", "%v", err)
	saved, err := client.SavedQueries.Create(ctx, livegraph.NewSavedQuery{
		Name: name, Kind: livegraph.SavedQueryKindSearch, Request: map[string]any{"query": "pumps that leak", "limit": 5},
	})
	noError(t, err)
	_, err = client.SavedQueries.Create(ctx, livegraph.NewSavedQuery{
		Name: name, Kind: livegraph.SavedQueryKindAnswer, Request: map[string]any{"query": "a"},
	})
	check(t, errors.Is(err, livegraph.ErrConflict), "%v", err)
	nodes, err := client.SavedQueries.RunNodes(ctx, saved.ID, livegraph.RunSavedQuery{Limit: 3})
	noError(t, err)
	equal(t, 3, nodes.Limit)

	changes := livegraph.SavedQueryPatch{
		Kind:    livegraph.Set(livegraph.SavedQueryKindHybridSearch),
		Request: livegraph.Set(map[string]any{"hops": 1, "limit": nil}),
	}
	changed, err := client.SavedQueries.Update(ctx, saved.ID, changes, livegraph.IfVersion(1))
	noError(t, err)
	check(t, changed.Version == 2 && len(changed.Request) == 2 && changed.Request["hops"] == 1.0, "%+v", changed)
	_, err = client.SavedQueries.Update(ctx, saved.ID, changes, livegraph.IfVersion(1))
	check(t, errors.Is(err, livegraph.ErrConflict), "%v", err)
	walked, err := client.SavedQueries.RunHybrid(ctx, saved.ID, livegraph.RunSavedQuery{Query: "fans", Offset: new(1)})
	noError(t, err)
	equal(t, 1, walked.Offset)
	_, err = client.SavedQueries.Update(ctx, saved.ID, livegraph.SavedQueryPatch{
		Kind: livegraph.Set(livegraph.SavedQueryKindAnswer),
	})
	noError(t, err)
	answer, err := client.SavedQueries.RunAnswer(ctx, saved.ID, livegraph.RunSavedQuery{Query: "?"})
	noError(t, err)
	equal(t, "", answer.Answer)

	read, err := client.SavedQueries.Get(ctx, saved.ID)
	noError(t, err)
	equal(t, livegraph.SavedQueryKindAnswer, read.Kind)
	page, err := client.SavedQueries.List(ctx, livegraph.SavedQueryFilter{Name: name}, livegraph.Paging{Limit: 1})
	noError(t, err)
	equal(t, 1, page.Total)
	filter := livegraph.SavedQueryFilter{Kind: livegraph.SavedQueryKindAnswer, Sort: "-name"}
	all, err := livegraph.Collect(client.SavedQueries.All(ctx, filter))
	noError(t, err)
	check(t, slices.ContainsFunc(all, func(q livegraph.SavedQuery) bool { return q.ID == saved.ID }), "%+v", all)
	noError(t, client.SavedQueries.Delete(ctx, saved.ID))
	_, err = client.SavedQueries.Get(ctx, saved.ID)
	check(t, errors.Is(err, livegraph.ErrNotFound), "%v", err)
}
