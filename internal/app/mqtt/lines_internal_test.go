package mqtt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
)

func TestPointsBecomeLines(t *testing.T) {
	p := mapping.Point{
		Source: "a, b", Metric: "m=1", Tags: map[string]string{"z": "é", "k 1": "v,1"}, TimeUS: 7,
		Value: mapping.Value{Text: "say \"\\\"", IsText: true},
	}
	line, err := appendLine([]byte("x\n"), &p)
	require.NoError(t, err)
	require.Equal(t, "x\na\\,\\ b,k\\ 1=v\\,1,z=é m\\=1=\"say \\\"\\\\\\\"\" 7000\n", string(line))
	p.Value = mapping.Value{Number: -0.25}
	line, err = appendLine(nil, &p)
	require.NoError(t, err)
	require.Contains(t, string(line), "=-0.25 7000\n")
}

// TestABadNameLeavesTheLinesAsTheyWere covers each name, since part of a line would change the point after it.
func TestABadNameLeavesTheLinesAsTheyWere(t *testing.T) {
	for name, p := range map[string]mapping.Point{
		"no source":      {Metric: "m"},
		"a comment":      {Source: "#s", Metric: "m"},
		"no metric":      {Source: "s"},
		"a line break":   {Source: "s", Metric: "m\n"},
		"a backslash":    {Source: `s\`, Metric: "m"},
		"a bad key":      {Source: "s", Metric: "m", Tags: map[string]string{"k\\": "v"}},
		"a bad value":    {Source: "s", Metric: "m", Tags: map[string]string{"a": "v", "k": "v\n"}},
		"an empty value": {Source: "s", Metric: "m", Tags: map[string]string{"k": ""}},
	} {
		line, err := appendLine([]byte("x\n"), &p)
		require.Error(t, err, name)
		require.Equal(t, "x\n", string(line), name)
	}
}
