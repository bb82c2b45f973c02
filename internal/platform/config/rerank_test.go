package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARerankerIsOptionalAndItsKeyIsNeverShown(t *testing.T) {
	cfg, err := parse(t, "")
	require.NoError(t, err)
	require.False(t, cfg.Rerank.Enabled())
	for _, args := range []string{
		"--rerank-url=https://api.jina.ai/v1 --rerank-model=m --rerank-key=hunter2 --rerank-tls-ca=ca.pem",
		"--rerank-url=http://localhost:8000/v1 --rerank-model=m --rerank-key=hunter2 --rerank-allow-private-addresses",
	} {
		cfg, err := parse(t, "", strings.Fields(args)...)
		require.NoError(t, err, args)
		require.True(t, cfg.Rerank.Enabled())
		require.Equal(t, "hunter2", cfg.Rerank.Key.Reveal())
		require.NotContains(t, fmt.Sprintf("%v %+v", cfg.Rerank, cfg.Rerank), "hunter2")
	}
}

func TestWrongSettingsOfTheRerankerAreRefusedByName(t *testing.T) {
	const elsewhere = "--rerank-url=https://e/v1 --rerank-model=m "
	for args, want := range map[string]string{
		"--rerank-url=static":                       "--rerank-url: is neither empty nor a URL",
		"--rerank-url=https://u:hunter2@e/v1":       "--rerank-url: must hold no user",
		"--rerank-url=https://e/v1?key=hunter2":     "--rerank-url: must hold no user, query",
		"--rerank-url=https://e/v1/rerank/":         "--rerank-url: is the base URL",
		"--rerank-url=http://e/v1":                  "--rerank-url: must be https://",
		"--rerank-url=https://e/v1":                 "--rerank-model: is needed with a URL",
		"--rerank-model=m":                          "--rerank-model: is for a URL in --rerank-url",
		"--rerank-key=hunter2":                      "--rerank-key: is for a URL",
		"--rerank-allow-private-addresses":          "--rerank-allow-private-addresses: is for a URL",
		"--rerank-tls-ca=ca.pem":                    "--rerank-tls-ca: and the others",
		elsewhere + "--rerank-key=hunter2\x01":      "--rerank-key: has characters",
		elsewhere + "--rerank-timeout=0s":           "--rerank-timeout: must be from 100ms to 30s",
		elsewhere + "--rerank-timeout=31s":          "--rerank-timeout: must be from 100ms",
		elsewhere + "--rerank-max-candidates=0":     "--rerank-max-candidates: must be from 1 to 100",
		elsewhere + "--rerank-max-candidates=101":   "--rerank-max-candidates: must be from 1 to 100",
		elsewhere + "--rerank-max-text-bytes=100":   "--rerank-max-text-bytes: must be from 256 to 16384",
		elsewhere + "--rerank-max-text-bytes=20000": "--rerank-max-text-bytes: must be from 256",
		elsewhere + "--rerank-concurrency=0":        "--rerank-concurrency: must be from 1",
	} {
		_, err := parse(t, "", strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "hunter2", "a secret is never in an error")
	}
}
