package stores

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

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

func TestAnIndexOfAnotherModelIsAskedByWhoeverHasThatModel(t *testing.T) {
	static := embed.NewStatic().Model()
	before := embed.Model{Name: "before", Dimensions: 3}
	remote, askedRemote := newEmbedderServer(t, 3)
	child, askedChild := newEmbedderServer(t, EmbeddedModel.Dimensions)
	embedded := "http://:child-key@" + child[len("http://"):] + "/v1"

	named := config.Embedder{Address: config.EmbedderStatic, Batch: 1, Timeout: time.Minute, QueryTimeout: time.Minute,
		AllowPrivateAddresses: true, PreviousAddress: remote, PreviousKey: "remote-key", PreviousModel: before.Name,
		PreviousDimensions: before.Dimensions}
	unnamed := named
	unnamed.PreviousAddress, unnamed.PreviousKey, unnamed.PreviousModel, unnamed.PreviousDimensions = "", "", "", 0
	strict := unnamed // private addresses are not allowed, but the embedded embedder is on this machine
	strict.AllowPrivateAddresses = false
	ours := named // the configured previous API has the embedded embedder's model
	ours.PreviousModel, ours.PreviousDimensions = EmbeddedModel.Name, EmbeddedModel.Dimensions
	var askedOurs func() (string, string)
	ours.PreviousAddress, askedOurs = newEmbedderServer(t, EmbeddedModel.Dimensions)

	for name, c := range map[string]struct {
		cfg   config.Embedder
		at    *string
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
			cfg: strict, at: &embedded, model: EmbeddedModel, asked: askedChild, key: "Bearer child-key", known: true,
		},
		"embedded, though another is named": {
			cfg: named, at: &embedded, model: EmbeddedModel, asked: askedChild, key: "Bearer child-key", known: true,
		},
		"an API of the embedded one's model": {
			cfg: ours, at: &embedded, model: EmbeddedModel, asked: askedOurs, key: "Bearer remote-key", known: true,
		},
		"embedded, which does not run": {cfg: unnamed, model: EmbeddedModel},
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

// TestQueriesReachTheEmbeddedEmbedderOnceItRuns uses OpenEmbedders, as a process does.
func TestQueriesReachTheEmbeddedEmbedderOnceItRuns(t *testing.T) {
	child, _ := newEmbedderServer(t, EmbeddedModel.Dimensions)
	at := "http://:k@" + child[len("http://"):] + "/v1"
	embedders, err := OpenEmbedders(config.Embedder{
		Address: config.EmbedderStatic, Batch: 1, Timeout: time.Minute, QueryTimeout: time.Minute,
	})
	require.NoError(t, err)
	defer embedders.Close()
	_, err = embedders.Queries.EmbedQuery(t.Context(), EmbeddedModel, "pump")
	require.ErrorIs(t, err, embed.ErrOtherModel)
	embedders.EmbeddedURL.Store(&at)
	vector, err := embedders.Queries.EmbedQuery(t.Context(), EmbeddedModel, "pump")
	require.NoError(t, err)
	require.Len(t, vector, EmbeddedModel.Dimensions)

	embedders.EmbeddedURL.Store(nil)
	embedders.Queries.Close()
	_, err = embedders.Queries.EmbedQuery(t.Context(), EmbeddedModel, "pump")
	require.ErrorIs(t, err, embed.ErrOtherModel)
	_, err = embedders.Queries.EmbedQuery(t.Context(), embedders.Queries.Model(), "pump")
	require.NoError(t, err)
}
