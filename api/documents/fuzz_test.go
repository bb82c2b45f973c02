package documents

import (
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzDocuments requires that each document of a body that is accepted becomes valid commands.
func FuzzDocuments(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `{"documents":[]}`, `{"documents":[{"externalId":"a","text":"x"}]}`,
		`{"documents":[{"externalId":"a","text":"# T\n\nx","contentType":"text/markdown","tags":["t"],"sourceUrl":"x://x"}]}`,
		`{"documents":[{"externalId":"a","text":"<p>&#0;<h1>t","contentType":"text/html; charset=utf-8"}]}`,
		`{"documents":[{"externalId":" ","text":"","timestamp":"2026-11-21T07:40:08.123456789+01:00"}]}`,
		`{"documents":[{"externalId":"a","title":"\u2028","text":"x"}]}`, `{"documents":[1]}`, `{"documents":null}`,
		`{"documents":[{"externalId":"a","text":"x"},{"externalId":"a","text":"y"}]}`, `{"documents":[{"externalId":"a"`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := readDocuments(body)
		if err != nil {
			var refused *fault.Error
			require.ErrorAs(t, err, &refused)
			require.Contains(t, []fault.Kind{fault.Malformed, fault.Invalid}, refused.Kind)
			require.NotEmpty(t, refused.Details["field"])
			return
		}
		require.NotEmpty(t, list)
		for _, d := range list {
			if d.split() != nil {
				continue
			}
			require.True(t, utf8.ValidString(d.Title))
			change, err := document.Put(&d.Source, document.State{FreeID: document.ID(uuid.Nil, d.ExternalID, 0)})
			require.NoError(t, err)
			require.Equal(t, document.Created, change.Outcome)
			require.NoError(t, graph.Batch{Actions: change.Actions}.Validate())
		}
	})
}
