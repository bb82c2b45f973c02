package embedded_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/test/testenv"
)

const multilingual = "multilingual-e5-small"

func TestEachEmbeddedModelHasAnInstaller(t *testing.T) {
	require.Equal(t, embedded.EmbedderModel, config.EmbeddedModels[0].Name)
	require.Equal(t, embedded.EmbedderDimensions, config.EmbeddedModels[0].Dimensions)
	for _, m := range config.EmbeddedModels {
		_, ok := embedded.EmbedderInstaller(m.Name)
		require.True(t, ok, m.Name)
	}
	_, ok := embedded.EmbedderInstaller("static")
	require.False(t, ok)
	_, err := embedded.StartEmbedder(t.Context(), embedded.EmbedderOptions{
		EmbedderSettings: embedded.EmbedderSettings{Model: "word2vec"},
	})
	require.ErrorContains(t, err, `"word2vec"`)
}

// embedE5 returns the vectors of texts by the multilingual model, and the number of their tokens.
func embedE5(t *testing.T, address string, texts ...string) (vectors [][]float64, tokens int) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": multilingual, "input": texts})
	require.NoError(t, err)
	answer := call(t, address, "POST", "/v1/embeddings", strings.NewReader(string(body)))
	require.Equal(t, http.StatusOK, answer.status, answer.Error.Message)
	require.Equal(t, multilingual, answer.Model)
	require.Len(t, answer.Data, len(texts))
	vectors = make([][]float64, len(texts))
	for i, d := range answer.Data {
		require.NoError(t, json.Unmarshal(d.Embedding, &vectors[i]))
		require.InDelta(t, 1, dot(vectors[i], vectors[i]), 1e-5)
	}
	return vectors, answer.Usage.PromptTokens
}

func TestTheMultilingualModelIsTheOneOfItsPackage(t *testing.T) {
	testenv.RequireFull(t)
	address := testenv.EmbedderWith(t, multilingual)
	// What the program of the package computes from the same weights. It rounds in another order.
	vectors, _ := embedE5(t, address, "passage: This is an example sentence")
	for i, want := range []float64{0.03607035, -0.00837376, -0.03716692, -0.11912213, 0.06506251, 0.00261378} {
		require.InDelta(t, want, vectors[0][i], 3e-3)
	}
	for text, want := range map[string]int{
		"server is down": 7, "Der Kühlschrank ist kaputt.": 10, "温度センサーは故障しています。": 12, "Привет, мир": 8,
		" ﬁne  ＡＢＣ　½ ": 8,
	} {
		_, tokens := embedE5(t, address, "passage: "+text)
		require.Equal(t, want, tokens, text)
	}
	composed, _ := embedE5(t, address, "passage: caf\u00e9", "passage: cafe\u0301")
	require.Equal(t, composed[0], composed[1])

	answer := call(t, address, "GET", "/v1/models/"+multilingual, nil)
	require.Equal(t, http.StatusOK, answer.status)
	other := call(t, address, "POST", "/v1/embeddings", strings.NewReader(`{"model":"all-MiniLM-L6-v2","input":"x"}`))
	require.Equal(t, http.StatusNotFound, other.status)
}

func TestTheMultilingualModelComputesEachTextForItself(t *testing.T) {
	testenv.RequireFull(t)
	address := testenv.EmbedderWith(t, multilingual)
	texts := []string{"pump", "漢字 kanji", "🙂", strings.Repeat("long text ", 400), "Wärmepumpe im Keller", "a\tb\nc"}
	together, _ := embedE5(t, address, texts...)
	for i, text := range texts {
		alone, _ := embedE5(t, address, text)
		require.Equal(t, alone[0], together[i])
	}
}

func TestAQuestionFindsAPassageInAnotherLanguage(t *testing.T) {
	testenv.RequireFull(t)
	address := testenv.EmbedderWith(t, multilingual)
	m, _ := config.FindEmbeddedModel(multilingual)
	subjects := []map[string]string{
		{"en": "The refrigerator is broken", "de": "Der Kühlschrank ist kaputt", "fr": "Le réfrigérateur est en panne"},
		{"en": "Bread is baked with olives", "de": "Brot wird mit Oliven gebacken", "fr": "Le pain est cuit aux olives"},
		{"en": "The contract ends in March", "de": "Der Vertrag endet im März", "fr": "Le contrat prend fin en mars"},
		{"en": "Children play in the garden", "de": "Kinder spielen im Garten", "fr": "Les enfants jouent dans le jardin"},
		{"en": "The train leaves at noon", "de": "Der Zug fährt um zwölf Uhr ab", "fr": "Le train part à midi"},
	}
	for _, languages := range [][2]string{
		{"de", "en"}, {"en", "de"}, {"fr", "en"}, {"en", "fr"}, {"de", "fr"}, {"fr", "de"},
	} {
		var texts []string
		for _, s := range subjects {
			texts = append(texts, m.PassagePrefix+s[languages[1]])
		}
		for _, s := range subjects {
			texts = append(texts, m.QueryPrefix+s[languages[0]])
		}
		vectors, _ := embedE5(t, address, texts...)
		for i := range subjects {
			nearest, best := -1, -1.0
			for j := range subjects {
				if similarity := dot(vectors[len(subjects)+i], vectors[j]); similarity > best {
					nearest, best = j, similarity
				}
			}
			require.Equal(t, i, nearest, "%s: %s", languages, texts[len(subjects)+i])
		}
	}
}

func TestTwoModelsRunBesideEachOther(t *testing.T) {
	testenv.RequireFull(t)
	dir := t.TempDir()
	engines, err := embedded.Start(t.Context(), embedded.Options{
		DataDir: dir, Configured: embedded.Addresses{
			KafkaBrokers: []string{"kafka:9092"}, ClickHouseURL: "clickhouse://c:9000/d", PostgresURL: "postgres://p/d",
			MilvusAddress: "milvus:19530", RedisURL: "redis://r",
		},
		Embedder: &embedded.EmbedderSettings{Model: multilingual, Threads: 1},
	})
	require.NoError(t, err)
	require.True(t, engines.HadEmbedder(multilingual))
	require.False(t, engines.HadEmbedder(embedded.EmbedderModel))
	_, err = engines.StartEmbedder(t.Context(), embedded.EmbedderSettings{Threads: 1})
	require.NoError(t, err)
	require.Len(t, engines.Processes(), 2)
	require.True(t, engines.HadEmbedder(embedded.EmbedderModel))
	require.NoError(t, engines.StopEmbedder(t.Context(), embedded.EmbedderModel))
	require.Len(t, engines.Processes(), 1)
	embedE5(t, engines.Addresses().EmbedderURL, "query: pump")
	require.NoError(t, engines.Stop(t.Context()))
	requireNoProcesses(t, dir, 0)
}
