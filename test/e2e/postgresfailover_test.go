package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// TestNothingIsLostWhenPostgresFailsOver writes a graph and creates sources while the primary of Postgres
// is killed and its synchronous standby is promoted. The service finds the new primary by itself. Every
// acknowledged command is applied once, the events reproduce the graph, and every source that was created
// exists.
func TestNothingIsLostWhenPostgresFailsOver(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	pair := testenv.NewPostgresPair(t)
	s := newServer(t, "--postgres-url", pair.URL(t))
	s.Start()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	fleet := newGraphLoad(s, seed)
	reader := readEvents(s)
	defer reader.stop()
	fleet.start()
	stopSources := createSources(t, s)
	require.Eventually(t, func() bool { return len(fleet.answered()) > 300 }, time.Minute, 50*time.Millisecond)
	pair.FailOver(t)
	before := len(fleet.answered())
	require.Eventually(t, func() bool { return len(fleet.answered()) > before+300 }, 2*time.Minute, 50*time.Millisecond,
		"commands are accepted again")
	fleet.stop()
	created := stopSources()

	last := fleet.mustWrite(t)
	reader.waitFor(t, last.Sequence)
	require.Empty(t, reader.violations(), "events come once and in order")
	reader.compareAnswers(t, fleet.answered())
	compareGraphs(t, reader.fold(), listGraph(s))
	require.Greater(t, len(created), 20)
	for _, id := range created {
		s.Do(http.MethodGet, "/api/live-data/sources/"+id, nil, http.StatusOK, nil)
	}
}

// createSources creates one source after the other until stop is called, which returns the ids of those
// that were acknowledged.
func createSources(t *testing.T, s *server) (stop func() []string) {
	t.Helper()
	done, result := make(chan struct{}), make(chan []string, 1)
	go func() {
		var ids []string
		defer func() { result <- ids }()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			body := fmt.Appendf(nil, `{"name":"source %d"}`, i)
			a, err := s.Try(http.MethodPost, "/api/live-data/sources", body)
			if err != nil || a.Status != http.StatusCreated {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			var source struct{ ID string }
			if json.Unmarshal(a.Data, &source) == nil {
				ids = append(ids, source.ID)
			}
		}
	}()
	return func() []string { close(done); return <-result }
}
