package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

// replicaLag is the maximum lag of the replica in the tests.
const replicaLag = 2 * time.Second

// replicated is an installation with a replica of Postgres, and two processes that answer requests.
type replicated struct {
	*split
	pair *testenv.PostgresPair
}

func startReplicated(t *testing.T) *replicated {
	t.Helper()
	pair := testenv.NewPostgresPair(t)
	pair.Asynchronous(t)
	roles := []harness.Role{
		{Name: "api", Count: 2}, {Name: "points", Count: 1}, {Name: "commands", Count: 1}, {Name: "embeddings", Count: 1},
	}
	s := &split{Split: harness.NewSplit(t, binary, roles), t: t}
	for _, process := range s.All() {
		process.Env = append(process.Env, "LIVEGRAPH_POSTGRES_URL="+pair.PrimaryURL(),
			"LIVEGRAPH_POSTGRES_REPLICA_URL="+pair.StandbyURL(), "LIVEGRAPH_POSTGRES_REPLICA_MAX_LAG="+replicaLag.String())
	}
	s.Start()
	return &replicated{split: s, pair: pair}
}

// TestReadsFromAReplicaAreCurrent writes through one process and reads at once through the other, while the replica
// is current, does not apply the log, is down, hangs, and is promoted. No answer is older than a write before it.
func TestReadsFromAReplicaAreCurrent(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := startReplicated(t)
	s.requireWrittenIsRead()
	s.requireAnsweredBy("replica", "current")

	s.pair.PauseReplay(t)
	s.requireWrittenIsRead()
	s.requireAnsweredBy("primary", "behind", "lagging")
	s.requireAnsweredBy("primary", "lagging")
	s.pair.ResumeReplay(t)
	s.requireAnsweredBy("replica", "current")

	require.NoError(t, s.pair.Standby().Stop(t.Context()))
	s.requireWrittenIsRead()
	s.requireAnsweredBy("primary", "unavailable")
	require.NoError(t, s.pair.Standby().Start(t.Context()))
	s.requireAnsweredBy("replica", "current")

	testenv.Pause(t, s.pair.Standby())
	s.requireWrittenIsRead() // reads in progress are repeated by the primary
	s.requireAnsweredBy("primary", "unavailable")
	testenv.Resume(t, s.pair.Standby())
	s.requireAnsweredBy("replica", "current")

	s.pair.Promote(t)
	s.requireWrittenIsRead()
	s.requireAnsweredBy("primary", "unavailable")
	for _, api := range s.ByRole("api") {
		require.Zero(t, api.Stop())
	}
}

// requireWrittenIsRead changes nodes by one process, and reads each change by the other at once.
func (s *replicated) requireWrittenIsRead() {
	s.t.Helper()
	var clients sync.WaitGroup
	for client := range 4 {
		writer, reader := s.api(client), s.api(client+1)
		clients.Go(func() {
			if err := writeAndRead(writer, reader); err != nil {
				s.t.Error(err)
			}
		})
	}
	clients.Wait()
	require.False(s.t, s.t.Failed())
}

// maxReplicaReads is the maximum duration of three reads while the replica hangs.
const maxReplicaReads = 5 * time.Second

func writeAndRead(writer, reader *server) error {
	const changes = 50
	id := uuid.New()
	for change := range changes {
		name := fmt.Sprintf("node %d", change)
		payload := map[string]any{"id": id, "name": name}
		command := map[string]any{"type": "UPDATE_NODE", "payload": payload}
		if change == 0 {
			command["type"], payload["entityType"] = "CREATE_NODE", "object"
		}
		body, err := json.Marshal(command)
		if err != nil {
			return err
		}
		if a, err := writer.Try(http.MethodPost, "/api/commands/execute", body); err != nil || !a.Success {
			return fmt.Errorf("a command is answered %d %+v: %w", a.Status, a.Error, err)
		}
		began := time.Now()
		if err := readName(reader, id, name, int64(change)+1); err != nil {
			return err
		}
		if took := time.Since(began); took > maxReplicaReads {
			return fmt.Errorf("reads take %s", took)
		}
	}
	return nil
}

// readName returns an error unless a node has the name and the number of changes in all reads of it.
func readName(api *server, id uuid.UUID, name string, changes int64) error {
	type node struct{ Name string }
	var one node
	var list []node
	for path, into := range map[string]any{
		"/api/queries/nodes/" + id.String(): &one, "/api/queries/nodes?ids=" + id.String(): &list,
	} {
		a, err := api.Try(http.MethodGet, path, nil)
		if err == nil {
			err = json.Unmarshal(a.Data, into)
		}
		if err != nil {
			return fmt.Errorf("%s is answered %d %+v: %w", path, a.Status, a.Error, err)
		}
	}
	history, err := api.Try(http.MethodGet, "/api/queries/history?limit=1&nodeId="+id.String(), nil)
	if err != nil {
		return err
	}
	if one.Name != name || len(list) != 1 || list[0].Name != name || history.Meta.Total != changes {
		return fmt.Errorf("a read after the answer to a write is stale: %q, %v and %d changes instead of %q and %d",
			one.Name, list, history.Meta.Total, name, changes)
	}
	return nil
}

var replicaReads = regexp.MustCompile(
	`livegraph_postgres_replica_reads_total\{reason="(\w+)",target="(\w+)"\} (\S+)`)

// answeredBy returns the number of reads by the server that answered them and the reason.
func (s *replicated) answeredBy() map[[2]string]float64 {
	s.t.Helper()
	found := map[[2]string]float64{}
	for n := range s.ByRole("api") {
		for _, match := range replicaReads.FindAllStringSubmatch(s.api(n).scrape(), -1) {
			count, err := strconv.ParseFloat(match[3], 64)
			require.NoError(s.t, err)
			found[[2]string{match[2], match[1]}] += count
		}
	}
	return found
}

// requireAnsweredBy waits until both processes answer reads by the server for one of the reasons, and is ready.
func (s *replicated) requireAnsweredBy(target string, reasons ...string) {
	s.t.Helper()
	for n := range s.ByRole("api") {
		require.Eventually(s.t, func() bool {
			before := s.answeredBy()
			s.api(n).Do(http.MethodGet, "/api/queries/nodes", nil, http.StatusOK, nil)
			after := s.answeredBy()
			for _, reason := range reasons {
				if key := [2]string{target, reason}; after[key] > before[key] {
					return true
				}
			}
			return false
		}, time.Minute, 50*time.Millisecond, "reads are not answered by the %s: %v", target, reasons)
		answer, err := http.Get(s.api(n).URL() + "/readyz")
		require.NoError(s.t, err)
		require.NoError(s.t, answer.Body.Close())
		require.Equal(s.t, http.StatusOK, answer.StatusCode)
	}
}
