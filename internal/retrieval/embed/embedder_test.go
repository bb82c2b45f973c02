package embed_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/test/testenv"
)

// minilm returns a client of an embedded embedder.
func minilm(t testing.TB, address string) *embed.Remote {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	key, _ := u.User.Password()
	u.User = nil
	return remote(t, embed.Options{
		URL: u.String(), Key: key, Model: embed.Model{Name: embedded.EmbedderModel, Dimensions: embedded.EmbedderDimensions},
		AllowPrivateAddresses: true, Batch: 64, Timeout: 30 * time.Second, Retries: 6,
	})
}

func cosine(a, b embed.Vector) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestTheEmbeddedModelIsReachedAsAnyOther(t *testing.T) {
	r := minilm(t, testenv.Embedder(t))
	require.NoError(t, r.Ping(t.Context()))
	require.Equal(t, "all-MiniLM-L6-v2", r.Model().Name)
	texts := make([]string, 150)
	for i := range texts {
		texts[i] = strings.Repeat(fmt.Sprintf("sensor %d ", i), 1+i%7)
	}
	texts[7] = ""
	batched, err := r.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Nil(t, batched[7])

	var group sync.WaitGroup
	single := make([][]embed.Vector, 20)
	for i := range single {
		group.Go(func() { single[i], _ = r.Embed(t.Context(), texts[i:i+1]) })
	}
	group.Wait()
	for i := range single {
		require.Len(t, single[i], 1)
		require.Equal(t, batched[i], single[i][0], "batches change nothing")
	}
}

func TestVectorsAreTheSameOnAllCores(t *testing.T) {
	one, all := minilm(t, testenv.Embedder(t)), minilm(t, testenv.DefaultEmbedder(t))
	var texts []string
	for i := range 60 { // several batches of different lengths
		texts = append(texts, strings.Repeat(fmt.Sprintf("pump %d of the hall. ", i), 1+i%20))
	}
	want, err := one.Embed(t.Context(), texts)
	require.NoError(t, err)
	var callers errgroup.Group
	for range 3 {
		callers.Go(func() error {
			vectors, err := all.Embed(t.Context(), texts)
			assert.Equal(t, want, vectors)
			return err
		})
	}
	require.NoError(t, callers.Wait())
}

// TestMeaningIsWhatMiniLMAdds compares the two models of Livegraph.
func TestMeaningIsWhatMiniLMAdds(t *testing.T) {
	texts := []string{"server is down", "the machine stopped responding", "pump of the boiler", "the boiler's pump"}
	models := []embed.Embedder{minilm(t, testenv.Embedder(t)), embed.NewStatic()}
	paraphrase, words := make([]float64, 2), make([]float64, 2)
	for i, model := range models {
		v, err := model.Embed(t.Context(), texts)
		require.NoError(t, err)
		require.Len(t, v[0], model.Model().Dimensions)
		paraphrase[i], words[i] = cosine(v[0], v[1]), cosine(v[2], v[3])
	}
	require.Greater(t, paraphrase[0], 0.4)
	require.Less(t, paraphrase[1], 0.2, "static vectors know words alone")
	require.Greater(t, words[0], 0.85)
	require.Greater(t, words[1], 0.85)
}

func TestEmbeddingContinuesAfterTheEmbedderIsKilled(t *testing.T) {
	p := testenv.StoppableEmbedder(t)
	r := minilm(t, p.Address())
	before, err := r.Embed(t.Context(), []string{"pump"})
	require.NoError(t, err)
	require.NoError(t, p.Signal(syscall.SIGKILL))
	after, err := r.Embed(t.Context(), []string{"pump"})
	require.NoError(t, err, "it is retried until it is available again")
	require.Equal(t, before, after)
}

// benchPassage has 120 tokens.
var benchPassage = "%d " + strings.Repeat(
	"The boiler in the cellar feeds the pump that supplies the hall with warm water; it was replaced. ", 6)[:560]

// BenchmarkMiniLM measures the embedded model on one core, through HTTP.
func BenchmarkMiniLM(b *testing.B) {
	for name, c := range map[string]struct {
		text  string
		texts int
	}{
		"query":    {"which pump supplies the hall?", 1},
		"short":    {"temperature of pump %d in the hall", 64},
		"passages": {benchPassage, 16},
	} {
		b.Run(name, func(b *testing.B) {
			benchmarkEmbed(b, minilm(b, testenv.Embedder(b)), c.text, c.texts)
		})
	}
}

// BenchmarkMiniLMOnAllCores measures passages with default settings.
func BenchmarkMiniLMOnAllCores(b *testing.B) {
	benchmarkEmbed(b, minilm(b, testenv.DefaultEmbedder(b)), benchPassage, 64)
}

// benchmarkEmbed embeds a number of texts at a time. %d in a text is their number.
func benchmarkEmbed(b *testing.B, r *embed.Remote, text string, count int) {
	b.Helper()
	texts := make([]string, count)
	for i := range texts {
		texts[i] = strings.Replace(text, "%d", fmt.Sprint(i), 1)
	}
	for b.Loop() {
		if _, err := r.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(count)/b.Elapsed().Seconds(), "texts/s")
}
