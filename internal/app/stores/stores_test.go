package stores

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// newEmbedderServer starts an embedding API whose vectors have the given dimensions.
// lastRequest returns the key and the model of its last request.
func newEmbedderServer(t *testing.T, dimensions int) (url string, lastRequest func() (key, model string)) {
	t.Helper()
	var key, model string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		key, model = r.Header.Get("Authorization"), body.Model
		vector := make([]float32, dimensions)
		vector[0] = 1
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"model": model, "data": []any{map[string]any{
			"index": 0, "embedding": vector,
		}}})
	}))
	t.Cleanup(s.Close)
	return s.URL, func() (string, string) { return key, model }
}

var (
	childModel    = config.EmbeddedModels[0]
	embeddedModel = embed.Model{Name: childModel.Name, Dimensions: childModel.Dimensions}
)

func TestAnIndexOfAnotherModelIsAskedByWhoeverHasThatModel(t *testing.T) {
	static := embed.NewStatic().Model()
	before := embed.Model{Name: "before", Dimensions: 3}
	remote, askedRemote := newEmbedderServer(t, 3)
	child, askedChild := newEmbedderServer(t, embeddedModel.Dimensions)
	embedded := RunningEmbedder{"http://:child-key@" + child[len("http://"):] + "/v1", childModel}

	named := config.Embedder{Address: config.EmbedderStatic, Batch: 1, Timeout: time.Minute, QueryTimeout: time.Minute,
		AllowPrivateAddresses: true, PreviousAddress: remote, PreviousKey: "remote-key", PreviousModel: before.Name,
		PreviousDimensions: before.Dimensions}
	unnamed := named
	unnamed.PreviousAddress, unnamed.PreviousKey, unnamed.PreviousModel, unnamed.PreviousDimensions = "", "", "", 0
	strict := unnamed // private addresses are not allowed, but the embedded embedder is on this machine
	strict.AllowPrivateAddresses = false
	ours := named // the configured previous API has the embedded embedder's model
	ours.PreviousModel, ours.PreviousDimensions = embeddedModel.Name, embeddedModel.Dimensions
	var askedOurs func() (string, string)
	ours.PreviousAddress, askedOurs = newEmbedderServer(t, embeddedModel.Dimensions)

	for name, c := range map[string]struct {
		cfg   config.Embedder
		at    *RunningEmbedder
		model embed.Model
		asked func() (key, model string) // nil: no API is called
		key   string
		known bool
	}{
		"static":                          {cfg: unnamed, model: static, known: true},
		"static, though another is named": {cfg: named, at: &embedded, model: static, known: true},
		"the API that is named": {
			cfg: named, model: before, asked: askedRemote, key: "Bearer remote-key", known: true,
		},
		"that, beside the embedded one": {
			cfg: named, at: &embedded, model: before, asked: askedRemote, key: "Bearer remote-key", known: true,
		},
		"embedded": {
			cfg: strict, at: &embedded, model: embeddedModel, asked: askedChild, key: "Bearer child-key", known: true,
		},
		"embedded, though another is named": {
			cfg: named, at: &embedded, model: embeddedModel, asked: askedChild, key: "Bearer child-key", known: true,
		},
		"an API of the embedded one's model": {
			cfg: ours, at: &embedded, model: embeddedModel, asked: askedOurs, key: "Bearer remote-key", known: true,
		},
		"embedded, which does not run": {cfg: unnamed, model: embeddedModel},
		"named is of other dimensions": {cfg: named, model: embed.Model{Name: before.Name, Dimensions: 4}},
		"named is another":             {cfg: named, model: embed.Model{Name: "older", Dimensions: 3}},
		"nobody knows it":              {cfg: unnamed, at: &embedded, model: before},
	} {
		t.Run(name, func(t *testing.T) {
			e, known := previousEmbedder(c.cfg, c.at, c.model)
			require.Equal(t, c.known, known)
			if !known {
				return
			}
			defer e.Close()
			require.Equal(t, c.model, e.Model())
			vectors, err := e.Embed(t.Context(), []string{"pump"})
			require.NoError(t, err)
			require.Len(t, vectors[0], c.model.Dimensions)
			if c.asked != nil {
				key, model := c.asked()
				require.Equal(t, c.key, key)
				require.Equal(t, c.model.Name, model)
			}
		})
	}
}

func TestQueriesAndPassagesHaveThePrefixesOfTheModel(t *testing.T) {
	var inputs []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Input []string }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&request))
		inputs = append(inputs, request.Input...)
		data := make([]any, len(request.Input))
		for i := range data {
			data[i] = map[string]any{"index": i, "embedding": []float64{1, 0}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	defer server.Close()
	before := embed.Model{Name: "before", Dimensions: 2}
	embedders, err := OpenEmbedders(config.Embedder{
		Address: server.URL, Model: "m", Dimensions: 2, QueryPrefix: "q: ", PassagePrefix: "p: ", AllowPrivateAddresses: true,
		Batch: 8, Timeout: time.Minute, QueryTimeout: time.Minute,
		PreviousAddress: server.URL, PreviousModel: before.Name, PreviousDimensions: 2, PreviousQueryPrefix: "old: ",
	})
	require.NoError(t, err)
	defer embedders.Close()
	_, err = embedders.Embedder.Embed(t.Context(), []string{"pump", " ", "fan"})
	require.NoError(t, err)
	_, err = embedders.Queries.EmbedQuery(t.Context(), embedders.Queries.Model(), "pump")
	require.NoError(t, err)
	_, err = embedders.Queries.EmbedTexts(t.Context(), []string{"a sentence"})
	require.NoError(t, err)
	_, err = embedders.Queries.EmbedQuery(t.Context(), before, "pump")
	require.NoError(t, err)
	require.Equal(t, []string{"p: pump", "p: fan", "q: pump", "p: a sentence", "old: pump"}, inputs)

	embedders.Beside.Store(&RunningEmbedder{
		server.URL, config.EmbeddedModel{Name: "beside", Dimensions: 2, QueryPrefix: "b: "},
	})
	_, err = embedders.Queries.EmbedQuery(t.Context(), embed.Model{Name: "beside", Dimensions: 2}, "pump")
	require.NoError(t, err)
	require.Equal(t, "b: pump", inputs[len(inputs)-1])
}

// TestQueriesReachTheEmbeddedEmbedderOnceItRuns uses OpenEmbedders, as a process does.
func TestQueriesReachTheEmbeddedEmbedderOnceItRuns(t *testing.T) {
	child, _ := newEmbedderServer(t, embeddedModel.Dimensions)
	at := RunningEmbedder{"http://:k@" + child[len("http://"):] + "/v1", childModel}
	embedders, err := OpenEmbedders(config.Embedder{
		Address: config.EmbedderStatic, Batch: 1, Timeout: time.Minute, QueryTimeout: time.Minute,
	})
	require.NoError(t, err)
	defer embedders.Close()
	_, err = embedders.Queries.EmbedQuery(t.Context(), embeddedModel, "pump")
	require.ErrorIs(t, err, embed.ErrOtherModel)
	embedders.Beside.Store(&at)
	vector, err := embedders.Queries.EmbedQuery(t.Context(), embeddedModel, "pump")
	require.NoError(t, err)
	require.Len(t, vector, embeddedModel.Dimensions)

	embedders.Beside.Store(nil)
	embedders.Queries.Close()
	_, err = embedders.Queries.EmbedQuery(t.Context(), embeddedModel, "pump")
	require.ErrorIs(t, err, embed.ErrOtherModel)
	_, err = embedders.Queries.EmbedQuery(t.Context(), embedders.Queries.Model(), "pump")
	require.NoError(t, err)
}
