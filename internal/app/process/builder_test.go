package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

func TestEachRoleHasItsParts(t *testing.T) {
	always := []string{"engine probes", "garbage collection"}
	consumer := append([]string{"probes", "dead letters"}, always...)
	points := []string{"points", "maintenance", "replays", "rollups"}
	for role, want := range map[string][]string{
		"api":        append([]string{"api"}, always...),
		"points":     append(points, consumer...),
		"commands":   append([]string{"commands"}, consumer...),
		"embeddings": append([]string{"lexical", "embeddings", "links"}, consumer...),
		"audit":      append([]string{"audit"}, consumer...),
		"rules":      append([]string{"rules", "webhooks", "analyses", "probes"}, always...),
		"all": append([]string{
			"api", "points", "maintenance", "replays", "rollups", "commands", "lexical", "embeddings", "links", "audit",
			"rules", "webhooks", "analyses", "dead letters",
		}, always...),
	} {
		b := &builder{Options: Options{Config: &config.Config{Roles: []string{role}}}}
		b.Config.Rollups.Enabled = true
		var got []string
		for _, p := range b.parts() {
			if p.needed {
				got = append(got, p.name)
			}
		}
		require.ElementsMatch(t, want, got, role)
	}
}
