package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAChatModelIsOptionalAndItsKeyIsNeverShown(t *testing.T) {
	cfg, err := parse(t, "")
	require.NoError(t, err)
	require.False(t, cfg.Chat.Enabled())
	for _, args := range []string{
		"--chat-url=https://api.openai.com/v1 --chat-model=m --chat-key=hunter2 --chat-tls-ca=ca.pem",
		"--chat-url=http://localhost:11434/v1 --chat-model=m --chat-key=hunter2 --chat-allow-private-addresses",
	} {
		cfg, err := parse(t, "", strings.Fields(args)...)
		require.NoError(t, err, args)
		require.True(t, cfg.Chat.Enabled())
		require.Equal(t, "hunter2", cfg.Chat.Key.Reveal())
		require.NotContains(t, fmt.Sprintf("%v %+v", cfg.Chat, cfg.Chat), "hunter2")
	}
}

func TestWrongSettingsOfTheChatModelAreRefusedByName(t *testing.T) {
	const elsewhere = "--chat-url=https://e/v1 --chat-model=m "
	for args, want := range map[string]string{
		"--chat-url=static":                         "--chat-url: is neither empty nor a URL",
		"--chat-url=https://u:hunter2@e/v1":         "--chat-url: must hold no user",
		"--chat-url=https://e/v1?key=hunter2":       "--chat-url: must hold no user, query",
		"--chat-url=https://e/v1/chat/completions/": "--chat-url: is the base URL",
		"--chat-url=http://e/v1":                    "--chat-url: must be https://",
		"--chat-url=https://e/v1":                   "--chat-model: is needed with a URL",
		"--chat-model=m":                            "--chat-model: is for a URL in --chat-url",
		"--chat-key=hunter2":                        "--chat-key: is for a URL",
		"--chat-allow-private-addresses":            "--chat-allow-private-addresses: is for a URL",
		"--chat-tls-ca=ca.pem":                      "--chat-tls-ca: and the others",
		elsewhere + "--chat-key=hunter2\x01":        "--chat-key: has characters",
		elsewhere + "--chat-timeout=0s":             "--chat-timeout: must be from 1s to 5m0s",
		elsewhere + "--chat-idle-timeout=6m":        "--chat-idle-timeout: must be from 1s",
		elsewhere + "--chat-max-tokens=0":           "--chat-max-tokens: must be from 16 to 8192",
		elsewhere + "--chat-max-prompt-bytes=100":   "--chat-max-prompt-bytes: must be from 8192",
		elsewhere + "--chat-concurrency=0":          "--chat-concurrency: must be from 1",
		elsewhere + "--chat-retries=-1":             "--chat-retries: must be from 0 to 20",
	} {
		_, err := parse(t, "", strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "hunter2", "a secret is never in an error")
	}
}
