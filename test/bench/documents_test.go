package bench

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/bench/record"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
	"github.com/livegraph/livegraph/test/bench/stages"
	"github.com/livegraph/livegraph/test/harness"
)

// BenchmarkDocuments loads the passages of the Wikipedia data set as documents, without edges, waits
// until they are indexed and linked, and asks the questions.
func BenchmarkDocuments(b *testing.B) {
	r := record.New(b)
	w := dataset.Read(b)
	for _, model := range []string{"static", "minilm"} {
		b.Run(model, func(b *testing.B) {
			t := &target{Server: harness.New(b, binary, "--log-level", "warn"), b: b}
			if model == "minilm" {
				t.Env = append(t.Env, "LIVEGRAPH_EMBEDDER=")
			}
			t.Start()
			r.Engines(t.engines())
			began := time.Now()
			linking := t.shareOf("github.com/livegraph/livegraph/consumers/links.")
			t.loadDocuments(w)
			r.Logf("%s: %d documents were written in %s", model, len(w.Passages), time.Since(began).Round(time.Second))
			r.Add(model+"/load", "s", time.Since(began).Seconds())
			t.indexed(r)
			r.Logf("%s: indexed and linked after %s", model, time.Since(began).Round(time.Second))
			r.Add(model+"/indexed", "s", time.Since(began).Seconds())
			linker, service := linking()
			r.Logf("%s: the linker took %s of %s of the service's processor time", model, linker, service)
			r.Add(model+"/linker", "% of service's CPU", 100*linker.Seconds()/service.Seconds())
			const grouped = `,"groupBy":"document"`
			t.measureQuestions(r, w, model+"/search", searchPath, grouped)
			t.measureQuestions(r, w, model+"/hybrid", hybridPath, grouped)
			t.Stop()
		})
	}
	r.Save()
}

// loadDocuments creates a document per passage.
func (t *target) loadDocuments(w *dataset.Set) {
	t.b.Helper()
	var list []map[string]any
	for i, p := range w.Passages {
		list = append(list, map[string]any{"externalId": fmt.Sprint(i), "title": p.Title, "text": p.Text})
	}
	for part := range slices.Chunk(list, 500) {
		t.Do(http.MethodPost, "/api/documents", map[string]any{"documents": part}, http.StatusAccepted, nil)
	}
}

// shareOf measures, until the returned function is called, the processor time of the functions of the service whose
// names have a prefix, and of the whole service.
func (t *target) shareOf(prefix string) func() (share, service time.Duration) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	var share, service time.Duration
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			response, err := http.Get("http://" + t.Metrics + "/debug/pprof/profile?seconds=2")
			if err != nil {
				ended <- err
				return
			}
			below, total, err := stages.Below(response.Body, prefix)
			_ = response.Body.Close()
			if err != nil {
				ended <- err
				return
			}
			share, service = share+below, service+total
		}
	}()
	return func() (time.Duration, time.Duration) {
		t.b.Helper()
		close(stop)
		require.NoError(t.b, <-ended)
		return share, service
	}
}
