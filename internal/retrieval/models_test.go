package retrieval

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/test/bench/record"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
)

// What the sets are made from.
const (
	manualPages = "/usr/share/man"
	typescript  = "../../web/node_modules/typescript"
)

// requestTexts is the number of passages of a request, the default of --embedder-batch.
const requestTexts = 64

// modelSet is a set with which the models are compared.
type modelSet struct {
	name string
	*textSet
}

// BenchmarkModels compares the embedded models. It embeds three sets with each model, which runs as in the service, and
// ranks by the engine over lanes in memory. A set is left out if what it is made from is not installed.
func BenchmarkModels(b *testing.B) {
	r := record.New(b)
	share := record.Share(b)
	var sets []modelSet
	add := func(name string, set *dataset.Set) {
		set = set.Share(share)
		r.Add(name+"/passages", "texts", float64(len(set.Passages)))
		r.Add(name+"/questions", "texts", float64(len(set.Questions)))
		sets = append(sets, modelSet{name, &textSet{set}})
	}
	add("wiki", dataset.Read(b))
	man, err := dataset.Man(manualPages)
	if isInstalled(b, r, "man", err) {
		add("man", man)
	}
	messages, err := dataset.ReadMessages(typescript, "de", "fr")
	if isInstalled(b, r, "ts", err) {
		for _, languages := range [][2]string{{"de", "en"}, {"en", "de"}, {"fr", "en"}} {
			add("ts-"+languages[0]+"-"+languages[1], messages.Set(languages[0], languages[1]))
		}
	}
	for _, model := range config.EmbeddedModels {
		m := startModel(b, r, model)
		for _, set := range sets {
			m.measure(set)
		}
		m.stop()
	}
	r.Add("share", "ratio", share)
	r.Save()
}

// isInstalled reports whether a set could be made, and prints that it is left out otherwise.
func isInstalled(b *testing.B, r *record.Recorder, set string, err error) bool {
	b.Helper()
	if errors.Is(err, fs.ErrNotExist) {
		r.Logf("the set %s is left out: %v", set, err)
		return false
	}
	require.NoError(b, err, set)
	return true
}

// measuredModel is an embedded model that runs.
type measuredModel struct {
	b                   *testing.B
	r                   *record.Recorder
	name                string
	process             *supervisor.Process
	passages, questions *cachedEmbedder
}

// startModel starts the embedder with a model, and creates clients like those of the service.
func startModel(b *testing.B, r *record.Recorder, model config.EmbeddedModel) *measuredModel {
	b.Helper()
	m := &measuredModel{b: b, r: r, name: model.Name}
	var err error
	m.process, err = embedded.StartEmbedder(b.Context(), embedded.EmbedderOptions{
		Options:          engine.Options{Dir: filepath.Join(b.TempDir(), model.Name)},
		EmbedderSettings: embedded.EmbedderSettings{Model: model.Name},
	})
	require.NoError(b, err)
	b.Cleanup(func() { _ = m.process.Stop(context.WithoutCancel(b.Context())) })
	var settings config.Embedder
	settings.UseEmbedded(m.process.Address(), model)
	m.passages = m.client(settings, settings.PassagePrefix)
	m.questions = m.client(settings, settings.QueryPrefix)
	return m
}

// stop records the memory of the process and stops it.
func (m *measuredModel) stop() {
	m.b.Helper()
	m.r.Add(m.name+"/memory", "MiB", record.PeakMemory(m.b, m.process.PID()))
	m.passages.Close()
	m.questions.Close()
	require.NoError(m.b, m.process.Stop(m.b.Context()))
}

func (m *measuredModel) client(settings config.Embedder, prefix string) *cachedEmbedder {
	m.b.Helper()
	client, err := embed.NewRemote(embed.Options{
		URL: settings.Address, Key: settings.Key.Reveal(), Prefix: prefix, Batch: requestTexts, Timeout: 5 * time.Minute,
		Model:                 embed.Model{Name: settings.Model, Dimensions: settings.Dimensions},
		AllowPrivateAddresses: settings.AllowPrivateAddresses,
	})
	require.NoError(m.b, err)
	return &cachedEmbedder{client, map[string]embed.Vector{}}
}

// cachedEmbedder embeds each text once. It is not for concurrent use unless it has all vectors.
type cachedEmbedder struct {
	*embed.Remote
	vectors map[string]embed.Vector
}

func (c *cachedEmbedder) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { _, ok := c.vectors[text]; return ok })
	found, err := c.Remote.Embed(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, text := range missing {
		c.vectors[text] = found[i]
	}
	vectors := make([]embed.Vector, len(texts))
	for i, text := range texts {
		vectors[i] = c.vectors[text]
	}
	return vectors, nil
}

// measure embeds a set, and measures the CPU time of it and the recall of its questions.
func (m *measuredModel) measure(set modelSet) {
	m.b.Helper()
	name, texts := m.name+"/"+set.name, set.passages()
	var vectors []embed.Vector
	logged, before := time.Now(), record.ProcessCPU(m.b, m.process.PID())
	for part := range slices.Chunk(texts, requestTexts) {
		found, err := m.passages.Embed(m.b.Context(), part)
		require.NoError(m.b, err)
		if vectors = append(vectors, found...); time.Since(logged) > 15*time.Second {
			logged = time.Now()
			m.r.Logf("%s: %d of %d passages", name, len(vectors), len(texts))
		}
	}
	between := record.ProcessCPU(m.b, m.process.PID())
	for _, q := range set.Questions { // one at a time, as searches do
		_, err := m.questions.Embed(m.b.Context(), []string{q.Question})
		require.NoError(m.b, err)
	}
	after := record.ProcessCPU(m.b, m.process.PID())
	m.r.Add(name+"/passage", "ms", (between-before).Seconds()*1000/float64(len(texts)))
	m.r.Add(name+"/question", "ms", (after-between).Seconds()*1000/float64(len(set.Questions)))
	search, hybrid, meaning := set.recalls(m.b, newMemoryLanes(set.textSet, vectors, m.questions))
	m.r.Add(name+"/search", "%", search)
	m.r.Add(name+"/hybrid", "%", hybrid)
	m.r.Add(name+"/meaning", "%", meaning)
	m.r.Logf("%s: R@5 of search %.1f, of hybrid search %.1f, of meaning alone %.1f", name, search, hybrid, meaning)
	unscaled, _, _ := set.recalls(m.b, newMemoryLanes(set.textSet, vectors, unscaledEmbedder{m.questions}))
	m.r.Add(name+"/unscaled", "%", unscaled)
	m.r.Add(name+"/unrelated", "ratio", m.meanCosine(set, vectors))
}

// meanCosine returns the mean cosine of a question and a passage that does not answer it.
func (m *measuredModel) meanCosine(set modelSet, passages []embed.Vector) float64 {
	m.b.Helper()
	sum, count := 0.0, 0
	for _, q := range set.Questions {
		for i, passage := range passages {
			if !slices.Contains(q.Gold, set.Passages[i].Title) {
				sum, count = sum+exactCosine(m.questions.vectors[q.Question], passage), count+1
			}
		}
	}
	return sum / float64(count)
}

// unscaledEmbedder has another name than its model, so that the cosines of its vectors are not scaled.
type unscaledEmbedder struct{ *cachedEmbedder }

func (u unscaledEmbedder) Model() embed.Model {
	model := u.cachedEmbedder.Model()
	model.Name = "unscaled " + model.Name
	return model
}

// recalls returns R@5 of search, of hybrid search, and of hybrid search by vectors alone.
func (w *textSet) recalls(t testing.TB, lanes *memoryLanes) (search, hybrid, meaning float64) {
	t.Helper()
	e := w.engine(lanes)
	search = w.recall(5, w.ask(t, func(question string) (Result, error) {
		return e.Search(t.Context(), Query{Text: question, Limit: 5})
	}))
	byHybrid := func(hops int, weights Weights) float64 {
		return w.recall(5, w.ask(t, func(question string) (Result, error) {
			return e.Hybrid(t.Context(), HybridQuery{
				Query: Query{Text: question, Limit: 5}, Hops: hops, Direction: AnyDirection, Weights: weights,
			})
		}))
	}
	return search, byHybrid(2, DefaultWeights()), byHybrid(0, Weights{Vector: 1})
}
