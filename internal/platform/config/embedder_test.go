package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

func TestTheEmbedderIsEmbeddedStaticOrElsewhere(t *testing.T) {
	for args, want := range map[string]struct{ static, remote bool }{
		"":                                 {},
		"--embedder=all-MiniLM-L6-v2":      {},
		"--embedder=multilingual-e5-small": {},
		"--embedder=static":                {static: true},
		"--embedder=https://api.openai.com/v1 --embedder-model=m --embedder-dimensions=1536 --embedder-key=sk-1": {
			remote: true,
		},
		"--embedder=http://embedder:8080/v1 --embedder-model=m --embedder-dimensions=384 " +
			"--embedder-allow-private-addresses --embedder-batch=16 --embedder-timeout=5s": {remote: true},
	} {
		cfg, err := parse(t, "", strings.Fields(args)...)
		require.NoError(t, err, args)
		require.Equal(t, want.static, cfg.Embedder.Static(), args)
		require.Equal(t, want.remote, cfg.Embedder.Remote(), args)
		require.Equal(t, !want.static && !want.remote, cfg.NeedsEmbedder(), args)
		cfg.Roles = []string{"points", "commands"}
		require.False(t, cfg.NeedsEmbedder(), "no role of these turns text into vectors")
	}
}

func TestWrongSettingsOfTheEmbedderAreRefusedByName(t *testing.T) {
	const elsewhere = "--embedder=https://e/v1 --embedder-model=m --embedder-dimensions=384 "
	long := strings.Repeat("x", 501)
	for args, want := range map[string]string{
		"--embedder=statik":                                   "--embedder: is neither empty nor static nor one of all-Mini",
		"--embedder=ftp://e/v1":                               "--embedder: is neither empty nor static nor one of all-Mini",
		"--embedder=https://u:hunter2@e/v1":                   "--embedder: must hold no user",
		"--embedder=https://e/v1?key=hunter2":                 "--embedder: must hold no user, query",
		"--embedder=https://e/v1/embeddings":                  "--embedder: is the base URL",
		"--embedder=http://e/v1":                              "--embedder: must be https://",
		"--embedder=https://e/v1":                             "--embedder-model: is needed with a URL",
		"--embedder-dimensions=384":                           "--embedder-dimensions: is for a URL in --embedder",
		"--embedder-model=m":                                  "--embedder-model: is for a URL",
		"--embedder=static --embedder-key=k":                  "--embedder-key: is for a URL",
		"--embedder-allow-private-addresses":                  "--embedder-allow-private-addresses: is for a URL",
		"--embedder=multilingual-e5-small --embedder-model=m": "--embedder-model: is for a URL",
		"--embedder-query-prefix=q":                           "--embedder-query-prefix: is for a URL",
		"--embedder=static --embedder-passage-prefix=p":       "--embedder-passage-prefix: is for a URL",
		elsewhere + "--embedder-query-prefix=" + long:         "--embedder-query-prefix: must be valid UTF-8",
		"--previous-embedder-query-prefix=q":                  "--previous-embedder: is needed",
		"--previous-embedder=multilingual-e5-small":           "--previous-embedder: is for a URL",
		"--embedder-tls-ca=ca.pem":                            "--embedder-tls-ca: and the others",
		elsewhere + "--embedder-dimensions=0":                 "--embedder-dimensions: is needed with a URL, from 1 to 32768",
		elsewhere + "--embedder-key=hunter2\x01":              "--embedder-key: has characters",
		"--embedder-batch=0":                                  "--embedder-batch: must be from 1 to 2048",
		"--embedder-timeout=0s":                               "--embedder-timeout: must be above zero",
		"--embedder-query-timeout=0s":                         "--embedder-query-timeout: must be above zero",
		"--previous-embedder-model=m":                         "--previous-embedder: is needed",
		"--previous-embedder=https://e/v1":                    "--previous-embedder-model: is needed with a URL",
		"--embedder-retries=-1":                               "--embedder-retries: must be from 0 to 20",
		"--embedder-threads=-1":                               "--embedder-threads: must be from 0",
	} {
		_, err := parse(t, "", strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "hunter2", "a secret is never in an error")
	}
}

func TestThePreviousEmbedderMayBeReachedWhateverTheNewOneIs(t *testing.T) {
	const previous = " --previous-embedder-model=m --previous-embedder-dimensions=384 "
	for _, args := range []string{
		"--embedder=static --previous-embedder=http://embedder:8080/v1 --embedder-allow-private-addresses",
		"--previous-embedder=http://embedder:8080/v1 --embedder-allow-private-addresses",
		"--embedder=static --previous-embedder=https://e/v1 --embedder-tls-ca=ca.pem",
		"--embedder=http://e/v1 --embedder-model=n --embedder-dimensions=2 --embedder-allow-private-addresses" +
			" --previous-embedder=https://e/v1 --embedder-tls-ca=ca.pem",
	} {
		cfg, err := parse(t, "", strings.Fields(args+previous)...)
		require.NoError(t, err, args)
		require.Equal(t, cfg.Embedder.AllowPrivateAddresses, cfg.Embedder.Previous().AllowPrivateAddresses)
	}
	_, err := parse(t, "", strings.Fields("--embedder=static --previous-embedder=http://e/v1"+previous)...)
	require.ErrorContains(t, err, "--previous-embedder: must be https://")
}

func TestAnEmbeddedEmbedderIsFilledInWithItsKeyApart(t *testing.T) {
	cfg, err := parse(t, "")
	require.NoError(t, err)
	e5, _ := config.FindEmbeddedModel("multilingual-e5-small")
	cfg.Embedder.UseEmbedded("http://:s3cret@127.0.0.1:15000/v1", e5)
	require.Equal(t, "http://127.0.0.1:15000/v1", cfg.Embedder.Address)
	require.Equal(t, "s3cret", cfg.Embedder.Key.Reveal())
	require.Equal(t, 384, cfg.Embedder.Dimensions)
	require.Equal(t, []string{"multilingual-e5-small", "query: ", "passage: "},
		[]string{cfg.Embedder.Model, cfg.Embedder.QueryPrefix, cfg.Embedder.PassagePrefix})
	require.True(t, cfg.Embedder.Remote())
	require.NoError(t, cfg.Validate())

	before := cfg.Embedder
	cfg.Embedder.UseEmbedded("", e5)
	require.Equal(t, before, cfg.Embedder, "nothing was started")
}

func TestEachEmbeddedModelIsFoundByItsName(t *testing.T) {
	for i, want := range config.EmbeddedModels {
		got, ok := config.FindEmbeddedModel(want.Name)
		require.True(t, ok)
		require.Equal(t, want, got)
		if standard, _ := config.FindEmbeddedModel(""); i == 0 {
			require.Equal(t, want, standard)
		} else {
			require.NotEmpty(t, want.QueryPrefix, "it was trained with one")
		}
	}
	_, ok := config.FindEmbeddedModel("static")
	require.False(t, ok)
}
