package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/contract"
)

func TestAQueryWaitsForItsCheckpoint(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	token := decode[accepted](
		t, l.post(t, ingestPath, `{"points":[{"sourceId":"`+made.ID+`","metric":"m","value":1}]}`), http.StatusCreated,
	).Checkpoint
	path := "/api/live-data/query?checkpoint=" + token
	began := time.Now()
	a := l.Do(t, contract.Request{Path: path})
	a.RequireFailure(
		t, http.StatusGatewayTimeout, "INTERNAL_ERROR", "The points of the checkpoint are not visible yet",
		map[string]any{"checkpoint": token},
	)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.GreaterOrEqual(t, time.Since(began), time.Second, "it waited as long as the settings say")

	topic := l.Log.PointsTopic()
	partition := pointblock.Partition(uuid.MustParse(made.ID), topic.Partitions)
	waited := make(chan int, 1)
	go func() { waited <- l.Do(t, contract.Request{Path: path}).Status }()
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, l.DB.AdvanceWatermarks(t.Context(), topic.ID, map[int32]int64{partition: 0}))
	select {
	case <-waited:
		t.Fatal("it did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, l.DB.AdvanceWatermarks(t.Context(), topic.ID, map[int32]int64{partition: 1}))
	require.Equal(t, http.StatusOK, <-waited)
	require.Equal(t, http.StatusOK, l.Do(t, contract.Request{Path: path}).Status)
}

func TestAQueryWithACheckpointReportsDeadLetters(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	token := decode[accepted](
		t, l.post(t, ingestPath, `{"points":[{"sourceId":"`+made.ID+`","metric":"m","value":1}]}`), http.StatusCreated,
	).Checkpoint
	topic := l.Log.PointsTopic()
	partition := pointblock.Partition(uuid.MustParse(made.ID), topic.Partitions)
	require.NoError(t, l.DB.AdvanceWatermarks(t.Context(), topic.ID, map[int32]int64{partition: 1}))
	ask := func(more string) *contract.Answer {
		return l.Do(t, contract.Request{Path: "/api/live-data/query?checkpoint=" + token + more})
	}
	const header = "X-Livegraph-Dead-Lettered"
	a := ask("")
	require.NotContains(t, string(a.Body), "deadLettered")
	require.Empty(t, a.Header.Get(header))

	place := []jobs.LogPosition{{Partition: partition, Offset: 0}}
	require.NoError(t, l.DB.AddDeadRecords(t.Context(), topic.ID, place))
	a = ask("")
	require.Contains(t, string(a.Body), `"deadLettered":1`)
	require.Equal(t, "1", a.Header.Get(header))
	require.Equal(t, "1", ask("&format=csv").Header.Get(header))

	require.NoError(t, l.DB.RedriveDeadRecords(t.Context(), topic.ID, place))
	require.NotContains(t, string(ask("").Body), "deadLettered")
}

func TestACheckpointIsOnlyGoodForItsWorkspaceAndLog(t *testing.T) {
	t.Parallel()
	group := &contract.LiveData{}
	remade := false
	group.Change = func(d *livedata.Deps) {
		id := d.TopicID
		d.TopicID = func() [16]byte {
			if remade {
				return [16]byte{1}
			}
			return id()
		}
	}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	made := l.createSource(t, `{"name":"boiler"}`)
	token := decode[accepted](
		t, l.post(t, ingestPath, `{"points":[{"sourceId":"`+made.ID+`","metric":"m","value":1}]}`), http.StatusCreated,
	).Checkpoint
	bad := func(token string, q contract.Request, reason string) {
		q.Path = "/api/live-data/query?checkpoint=" + escape(token)
		l.Do(t, q).RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{
			"field": "checkpoint", "reason": reason,
		})
	}
	const notOurs = "is not a checkpoint of this workspace"
	other := l.NewWorkspace(t, apikey.Live)
	bad(token, contract.Request{Key: l.NewKey(t, []uuid.UUID{other}, request.Admin), Workspace: other.String()}, notOurs)
	flipped := []byte(token)
	flipped[len(flipped)/2] ^= 1
	for _, text := range []string{"x", string(flipped), token[1:], token + "AAAA", strings.Repeat("A", 20_000), "🚀"} {
		bad(text, contract.Request{}, notOurs)
	}
	cursor := func() string {
		l.createSource(t, `{"name":"second"}`)
		return *nextCursor(t, l.Do(t, contract.Request{Path: "/api/live-data/sources?limit=1"}))
	}()
	bad(cursor, contract.Request{}, notOurs)
	remade = true
	bad(token, contract.Request{}, "is of a log that is no longer there: its points cannot be waited for")
}
