package contract_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/paraphrases"
	"github.com/livegraph/livegraph/test/testenv"
)

// miniLM returns the model that is served by default.
func miniLM(t *testing.T) embed.Embedder {
	t.Helper()
	at, err := url.Parse(testenv.Embedder(t))
	require.NoError(t, err)
	key, _ := at.User.Password()
	at.User = nil
	embedder, err := embed.NewRemote(embed.Options{
		URL: at.String(), Key: key, Model: embed.Model{Name: embedded.EmbedderModel, Dimensions: embedded.EmbedderDimensions},
		AllowPrivateAddresses: true, Batch: 64, Timeout: 30 * time.Second, Retries: 4,
	})
	require.NoError(t, err)
	t.Cleanup(embedder.Close)
	return embedder
}

func TestParaphrasesAreFound(t *testing.T) {
	t.Parallel()
	s := startSearchWith(t, &contract.Search{Embedder: miniLM(t)})
	pairs, err := paraphrases.Pairs()
	require.NoError(t, err)
	var commands []map[string]any
	for _, p := range pairs {
		commands = append(commands, map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
			"name": p.Name, "description": p.Description, "entityType": "object",
		}})
	}
	require.Equal(t, http.StatusOK, s.batch(t, jsonOf(t, map[string]any{"commands": commands})).Status)
	s.untilReady(t)
	found := 0
	for _, p := range pairs {
		for _, hit := range s.search(t, searchPath, jsonOf(t, map[string]any{"query": p.Query, "limit": 3})) {
			if hit.Node.Name == p.Name {
				found++
			}
		}
	}
	t.Logf("%d of %d", found, len(pairs))
	require.GreaterOrEqual(t, found*100, len(pairs)*80)
}
