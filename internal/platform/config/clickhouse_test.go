package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettingsOfAClusterOfClickHouse(t *testing.T) {
	for args, want := range map[string]string{
		"--clickhouse-url=postgres://u:s3cret@h/d": "--clickhouse-url: is not a URL with scheme clickhouse, http, https",
		"--clickhouse-url=clickhouse:///d":         "--clickhouse-url: is not a URL with scheme",
		"--clickhouse-url=clickhouse://u:s3cret@h:1,g/d": "--clickhouse-url: must name its hosts as host:port, " +
			"separated by commas",
		"--clickhouse-url=clickhouse://u:s3cret@%zz/d": "--clickhouse-url: cannot be parsed",
		"--clickhouse-cluster=a'b":                     "--clickhouse-cluster: must be the name of a cluster",
		"--clickhouse-embedded-shards=1":               "--clickhouse-embedded-shards: must be 0, or from 2 to 16",
		"--clickhouse-embedded-shards=17":              "--clickhouse-embedded-shards: must be 0, or from 2 to 16",
		"--clickhouse-embedded-shards=2 --clickhouse-url=clickhouse://h:1": "--clickhouse-embedded-shards: is for the " +
			"embedded ClickHouse only",
		"--clickhouse-url=clickhouse://h:1,g:1 --clickhouse-tls-ca=a": "clickhouse://…?secure=true or https://",
	} {
		_, err := parse(t, "", strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "s3cret")
	}
	for _, args := range []string{
		"--clickhouse-url=clickhouse://u:p@h:9000,g:9000/d --clickhouse-cluster=my-cluster.1",
		"--clickhouse-url=clickhouse://h:1,g:1?secure=true --clickhouse-tls-ca=a",
		"--clickhouse-embedded-shards=2",
	} {
		_, err := parse(t, "", strings.Fields(args)...)
		require.NoError(t, err, args)
	}
}
