package contract_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/contract"
)

func TestAReplayIsPlannedStartedShownAndCancelled(t *testing.T) {
	t.Parallel()
	d := startPipeline(t, false)
	source := decode[struct{ ID string }](
		t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/sources", Body: `{"name":"pump"}`}),
		201,
	).ID
	for n := range 3 {
		decode[any](t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/ingest",
			Body: fmt.Sprintf(`{"points":[{"sourceId":%q,"metric":"m","timestamp":%d,"value":1}]}`, source, n)}), 201)
	}
	var plan struct {
		Topic, Consumer string
		Records         int64
		Partitions      []struct{ Partition, From, To int64 }
	}
	d.Send(t, http.MethodPost, replaysPath, `{"topic":"points","fromStart":true,"dryRun":true}`, http.StatusOK, &plan)
	require.EqualValues(t, 3, plan.Records)
	require.Len(t, plan.Partitions, 1)
	var none []any
	require.Zero(t, d.Get(t, replaysPath, &none).Meta.Total, "a dry run starts nothing")

	type job struct {
		ID, State, RequestedBy string
		Records                int64
		MaxRowsPerSecond       *int64
		WorkspaceID            *string
		CancelRequested        bool
	}
	var started job
	partition := plan.Partitions[0].Partition
	body := fmt.Sprintf(
		`{"topic":"points","fromOffsets":{"%d":1},"toOffsets":{"%d":3},"maxRowsPerSecond":10,"workspaceId":%q}`, partition,
		partition, d.Server.Workspace,
	)
	a := d.Send(t, http.MethodPost, replaysPath, body, http.StatusCreated, &started)
	require.Equal(t, replaysPath+"/"+started.ID, a.Header.Get("Location"))
	require.Equal(t, job{ID: started.ID, State: "queued", RequestedBy: "operator " + contract.OperatorName, Records: 2,
		MaxRowsPerSecond: started.MaxRowsPerSecond, WorkspaceID: started.WorkspaceID}, started)
	require.EqualValues(t, 10, *started.MaxRowsPerSecond)
	require.Equal(t, d.Server.Workspace.String(), *started.WorkspaceID)
	d.Send(
		t, http.MethodPost, replaysPath,
		`{"topic":"points","fromTime":"2026-01-01T00:00:00Z","toTime":"2026-01-02T00:00:00+01:00"}`,
		http.StatusUnprocessableEntity, nil,
	)
	var second job
	d.Send(
		t, http.MethodPost, replaysPath,
		`{"topic":"points","fromTime":"2026-01-01T00:00:00Z","partitions":[`+fmt.Sprint(partition)+`]}`, http.StatusCreated,
		&second,
	)

	var list []job
	require.EqualValues(t, 2, d.Get(t, replaysPath+"?limit=1", &list).Meta.Total)
	require.Equal(t, second.ID, list[0].ID, "the newest is first")
	d.Get(t, replaysPath+"?limit=1&offset=1", &list)
	require.Equal(t, started.ID, list[0].ID)
	var got job
	d.Get(t, replaysPath+"/"+started.ID, &got)
	require.Equal(t, started, got)
	d.Send(t, http.MethodDelete, replaysPath+"/"+started.ID, "", http.StatusOK, &got)
	require.Equal(t, "cancelled", got.State)
	d.Send(t, http.MethodDelete, replaysPath+"/"+started.ID, "", http.StatusOK, nil)
	for _, id := range []string{uuid.NewString(), "x"} {
		d.Send(t, http.MethodDelete, replaysPath+"/"+id, "", http.StatusNotFound, nil)
		d.Do(t, contract.Request{Path: replaysPath + "/" + id}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
	}
}

func TestTheIndexesAreListedByWorkspaceAndRebuilt(t *testing.T) {
	t.Parallel()
	d := startPipeline(t, false)
	other := d.Server.NewWorkspace(t, "live")
	type state struct {
		Workspace struct{ ID, Name string }
		Status    string
		Reindex   struct{ Running bool }
	}
	var list []state
	require.EqualValues(t, 2, d.Get(t, "/admin/api/indexes", &list).Meta.Total)
	require.Equal(
		t, []string{d.Server.Workspace.String(), other.String()}, []string{list[0].Workspace.ID, list[1].Workspace.ID},
	)
	require.Equal(t, textindex.StatusDegraded, list[0].Status, "there is no index yet")
	d.Get(t, "/admin/api/indexes?limit=1&offset=1", &list)
	require.Equal(t, other.String(), list[0].Workspace.ID)
	d.Get(t, "/admin/api/indexes?offset=9", &list)
	require.Empty(t, list)

	var all struct {
		Indexes []struct{ ID, State, Cause string }
		Last    *struct{ ID, State, RequestedBy string }
	}
	d.Get(t, adminReindexPath, &all)
	require.Empty(t, all.Indexes)
	require.Nil(t, all.Last)
	var asked, again struct{ ID, State, RequestedBy string }
	d.Send(t, http.MethodPost, adminReindexPath, "", http.StatusAccepted, &asked)
	require.Equal(t, []string{"queued", "operator " + contract.OperatorName}, []string{asked.State, asked.RequestedBy})
	d.Send(t, http.MethodPost, adminReindexPath, "{}", http.StatusAccepted, &again)
	require.Equal(t, asked, again, "two that ask are one")
	d.Get(t, adminReindexPath, &all)
	require.Equal(t, asked.ID, all.Last.ID)

	execute(t, d.Server, `INSERT INTO search_indexes (id, model, dimensions, collection, state, cause) VALUES
		(gen_random_uuid(), 'm', 3, 'live', 'live', 'first'), (gen_random_uuid(), 'm', 3, 'next', 'building', 'asked')`)
	d.Get(t, adminReindexPath, &all)
	require.Len(t, all.Indexes, 2)
	require.Equal(t, []string{"live", "building"}, []string{all.Indexes[0].State, all.Indexes[1].State})
	d.Get(t, "/admin/api/indexes", &list)
	require.Equal(t, "ready", list[0].Status)
	require.True(t, list[0].Reindex.Running)
}
