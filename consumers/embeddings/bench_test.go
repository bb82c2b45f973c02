package embeddings_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/testenv"
)

// miniLM returns a client of the embedded embedder.
func miniLM(tb testing.TB) embed.Embedder {
	tb.Helper()
	address, err := url.Parse(testenv.Embedder(tb))
	require.NoError(tb, err)
	key, _ := address.User.Password()
	address.User = nil
	r, err := embed.NewRemote(embed.Options{
		URL: address.String(), Key: key,
		Model:                 embed.Model{Name: embedded.EmbedderModel, Dimensions: embedded.EmbedderDimensions},
		AllowPrivateAddresses: true, Batch: 64, Timeout: 30 * time.Second, Retries: 4,
	})
	require.NoError(tb, err)
	tb.Cleanup(r.Close)
	return r
}

func TestTheEmbeddedModelsVectorsAreIndexed(t *testing.T) {
	f := newFixture(t)
	f.embedder = miniLM(t)
	f.runConsumer()
	a := f.newWorkspace()
	f.do(a, node("Pump 7", "Feeds the boiler."), node("Log", strings.Repeat("It hummed all night long. ", 100)))
	f.waitForStatus(a, func(s textindex.IndexStatus) bool {
		return ready(s) && s.Model.Dimensions == embedded.EmbedderDimensions
	})
	index, _ := f.live()
	require.Len(t, f.storedVectors(index.Collection), len(f.expectedVectors(a)))
}

// BenchmarkFreshness writes nodes at a fixed rate for 15 seconds and reports the time from
// producing a command until its node is in Milvus.
func BenchmarkFreshness(b *testing.B) {
	passage := strings.Repeat("The pump of hall three feeds the boiler and hums at night. ", 10)
	for _, load := range []struct {
		name, text string
		rate       int
		miniLM     bool
	}{
		{"static/short/200", "Feeds the boiler.", 200, false}, {"MiniLM/short/200", "Feeds the boiler.", 200, true},
		{"MiniLM/passages/20", passage, 20, true},
	} {
		b.Run(load.name, func(b *testing.B) {
			f := newFixture(b)
			if load.miniLM {
				f.embedder = miniLM(b)
			}
			f.runConsumer(func(d *embeddings.Deps) {
				d.Config = embeddings.Config{Group: f.config.Group, Collections: f.config.Collections}
			})
			a := f.newWorkspace()
			f.do(a, node("First", "It is."))
			f.waitForStatus(a, ready)
			var took []time.Duration
			for b.Loop() {
				took = append(took, f.measureFreshness(a, load.text, load.rate, 15*time.Second)...)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[len(took)*95/100].Seconds()*1000, "p95-ms")
			b.ReportMetric(took[len(took)-1].Seconds()*1000, "max-ms")
		})
	}
}

// measureFreshness writes nodes at a fixed rate and returns the time until each was indexed.
func (f *fixture) measureFreshness(
	workspace uuid.UUID, text string, rate int, length time.Duration,
) (took []time.Duration) {
	ctx := context.Background()
	wrote := map[uuid.UUID]time.Time{}
	written := make(chan graph.CreateNode, rate*int(length.Seconds())+1)
	stop := testenv.RunInBackground(f.tb, func(context.Context) error {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for began := time.Now(); time.Since(began) < length; {
			<-tick.C
			n := node("Pump "+uuid.NewString()[:8], text+" "+uuid.NewString()[:8])
			r := &graphrecord.Request{
				Workspace: workspace, Mode: graphrecord.Single, ID: uuid.New(), Actions: []graph.Action{{Payload: n}},
				Origin: graph.Origin{Actor: actor, Scopes: []string{"write:nodes"}, AcceptedAt: time.Now(), RequestID: "r"},
			}
			value, err := graphrecord.EncodeRequest(r)
			if err != nil {
				return err
			}
			written <- n
			if err := f.log.ProduceCommand(ctx, kafka.Record{Workspace: workspace, Value: value}); err != nil {
				return err
			}
		}
		close(written)
		return nil
	})
	defer stop()
	index, _ := f.live()
	for more := true; more || len(wrote) > 0; time.Sleep(5 * time.Millisecond) {
		for taking := more; taking; {
			select {
			case n, ok := <-written:
				if more, taking = ok, ok; ok {
					wrote[n.ID] = time.Now()
				}
			default:
				taking = false
			}
		}
		var refs []textindex.NodeRef
		for id := range wrote {
			refs = append(refs, textindex.NodeRef{Workspace: workspace, Node: id})
		}
		held, err := f.graph.IndexedNodes(ctx, index.ID, refs)
		require.NoError(f.tb, err)
		for ref, n := range held {
			if !n.Intent {
				took = append(took, time.Since(wrote[ref.Node]))
				delete(wrote, ref.Node)
			}
		}
	}
	return took
}

// BenchmarkRebuild builds an index of nodes with short texts and reports the nodes per second.
func BenchmarkRebuild(b *testing.B) {
	for name, nodes := range map[string]int{"static": 20_000, "MiniLM": 3_000} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b)
			a := f.newWorkspace()
			for n := 0; n < nodes; n += 1000 {
				var payloads []graph.Payload
				for range 1000 {
					payloads = append(payloads, node("Pump "+uuid.NewString()[:8], f.randomText(12)))
				}
				f.do(a, payloads...)
			}
			if name == "MiniLM" {
				f.embedder = miniLM(b)
			}
			for b.Loop() {
				began := time.Now()
				_, stop := f.runConsumer()
				f.waitForStatus(a, ready)
				b.ReportMetric(float64(nodes)/time.Since(began).Seconds(), "nodes/s")
				stop()
			}
		})
	}
}
