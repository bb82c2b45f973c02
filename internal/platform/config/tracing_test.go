package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTracingIsOffByDefaultAndNamesTheCollectorsPath(t *testing.T) {
	cfg, err := parse(t, "")
	require.NoError(t, err)
	require.Empty(t, cfg.Tracing.Endpoint)
	require.Empty(t, cfg.Tracing.HeaderMap())
	for endpoint, want := range map[string]string{
		"http://collector:4318":            "http://collector:4318/v1/traces",
		"http://collector:4318/":           "http://collector:4318/v1/traces",
		"https://otlp.example/gateway":     "https://otlp.example/gateway/v1/traces",
		"https://otlp.example/v1/traces":   "https://otlp.example/v1/traces",
		"https://otlp.example/a/v1/traces": "https://otlp.example/a/v1/traces",
	} {
		cfg, err := parse(t, "", "--tracing-endpoint="+endpoint, "--tracing-headers=x-key=a=b, Authorization=Basic eA==")
		require.NoError(t, err)
		require.Equal(t, want, cfg.Tracing.URL())
		require.Equal(t, map[string]string{"x-key": "a=b", "Authorization": "Basic eA=="}, cfg.Tracing.HeaderMap())
	}
}

func TestWrongTracingSettingsAreRefusedAndSecretsAreNotShown(t *testing.T) {
	for arg, want := range map[string]string{
		"--tracing-endpoint=collector:4318":        "--tracing-endpoint: is not a URL with scheme http, https",
		"--tracing-endpoint=grpc://collector:4317": "--tracing-endpoint: is not a URL",
		"--tracing-endpoint=http://u:hunter2@c":    "--tracing-endpoint: must hold no user",
		"--tracing-endpoint=http://c?key=hunter2":  "--tracing-endpoint: must hold no user",
		"--tracing-headers=hunter2":                "--tracing-headers: is not NAME=VALUE",
		"--tracing-headers=a b=hunter2":            "--tracing-headers: is not NAME=VALUE",
		"--tracing-headers=a=hunter2\r\nb: c":      "--tracing-headers: is not NAME=VALUE",
		"--tracing-sample-ratio=1.1":               "--tracing-sample-ratio: must be from 0 to 1",
		"--tracing-sample-ratio=NaN":               "--tracing-sample-ratio: must be from 0 to 1",
		"--tracing-queue-size=0":                   "--tracing-queue-size: must be above zero",
		"--tracing-service=":                       "--tracing-service: must not be empty",
	} {
		_, err := parse(t, "", arg)
		require.ErrorContains(t, err, want, arg)
		require.NotContains(t, err.Error(), "hunter2", "a secret is never in an error")
	}
}
