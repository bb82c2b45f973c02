package remotewrite

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The labels that a reader derives from the source and the tags are those that were written.
func TestTargetsAreReadBackFromTheirSources(t *testing.T) {
	label := rapid.StringMatching(`(prometheus|[ab/]{0,3}|a\n| |[ab]{250})`)
	rapid.Check(t, func(t *rapid.T) {
		job, instance := label.Draw(t, "job"), label.Draw(t, "instance")
		p := &Parser{}
		name := sourceName(job, instance)
		p.addTarget(job, instance, name)
		tags := targetTags(name)
		require.Equal(t, len(tags) == 0, name == defaultSource, "only that source has no tags: %q", name)
		if len(p.tags) > 0 { // they replace those of the source
			tags = map[string]string{}
		}
		for _, tag := range p.tags {
			tags[tag.Key] = tag.Value
		}
		require.Equal(t, job, tags[jobLabel])
		require.Equal(t, instance, tags[instanceLabel])
	})
}
