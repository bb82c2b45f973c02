package config_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// FuzzFile checks that any configuration file results in a configuration or in an error with a
// message.
func FuzzFile(f *testing.F) {
	for _, file := range []string{
		"", "listen: 127.0.0.1:1\nkafka:\n  brokers: [a:1, b:2]\nlog-level: warn\n", "kafka: {brokers: }", "unknown: 1",
		"- a\n- b", "a: &a [*a]", "listen: [1, {a: b}]", "query-timeout: 99999999999999h", "\x00", "a: !!binary x",
		"max-connections: -1",
		"a: &x {b: 1}\nc: {<<: *x}", "kafka:\n  kafka:\n    kafka: 1", "? [a]\n: b", "1: 2",
	} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		resolver, err := config.YAML(strings.NewReader(file))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var cfg config.Config
		parser, err := kong.New(&cfg, kong.Resolvers(resolver), kong.Exit(func(int) { t.Error("kong exited") }))
		require.NoError(t, err)
		if _, err := parser.Parse(nil); err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}
