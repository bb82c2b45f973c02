package rag

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzSearchBody checks that any body is a query within the limits or refused with the name
// of a field.
func FuzzSearchBody(f *testing.F) {
	for _, body := range []string{
		`{"query":"pump"}`, `{"query":" ","limit":0}`,
		`{"query":"a","limit":9223372036854775807,"offset":9223372036854775807,"minScore":1}`,
		`{"query":"a","properties":{"a.b":["x",1.50,true],"":0}}`,
		`{"query":"a","properties":{"a":[[1]],"b":null}}`,
		`{"query":"a","entityTypes":["object","process","object"],"includeContent":true}`,
		`{"query":"a","properties":{"n":1e400}}`, `{"query":"a","propertyMin":{"n":1,"s":"a"},"propertyMax":{"n":"1e9"}}`,
		`{"query":"a","propertyPrefix":{"s":"","":"a"},"propertyMin":{"n":null}}`,
		`{"query":"a","hops":3,"relationTypes":["feeds"],"direction":"out",` +
			`"nodeIds":["0194a5b0-0000-7000-8000-00000000000a"],"weights":{"text":0,"vector":0.5,"graph":1},"explain":true}`,
		`{"query":"a","weights":{"text":0,"vector":0,"graph":0}}`, `{"query":"a","hops":-1,"nodeIds":[""]}`,
		`{"query":"a","facets":["entityType","tags","timestamp"],"facetLimit":50,"facetInterval":"month"}`,
		`{"query":"a","tags":["a","b","a"],"allTags":["c"],"timestamp":{"from":"2026-11-21T07:40:08.1Z"}}`,
		`{"query":"a","timestamp":{"from":"2026-11-21T07:40:08+01:00","to":"9999-12-31T23:59:59Z"}}`,
		`{"query":"a","tags":[],"timestamp":{}}`, `{"query":"a","documents":[]}`, `{"query":"a","documents":["a"]}`,
		`{"query":"a","documents":["0194a5b0-0000-7000-8000-00000000000a","0194A5B0-0000-7000-8000-00000000000A"]}`,
		`{"query":"a","rerank":{"candidates":50,"weight":1}}`, `{"query":"a","rerank":{"candidates":0,"weight":2}}`,
		`{"query":"a","facets":["tags","tags"]}`, `{"query":"a","facets":[],"facetLimit":0}`,
		`{"query":"a","maxSentences":10,"limit":1000,"includeLiveData":true}`, `{"query":"a","maxSentences":0}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		configured := models{chat: len(raw)%2 == 0, rerank: 50 * (len(raw) % 3 / 2)}
		var plain searchBody
		if check(t, raw, &plain) {
			var c request.Check
			q, p := plain.read(&c, uuid.Nil, configured)
			if refused(t, c.Err()) {
				return
			}
			require.True(t, p.limit >= 1 && p.limit <= request.MaxLimit && p.offset >= 0)
			require.True(t, q.Limit == p.limit && q.Offset >= 0 && q.Offset <= maxTotal && q.MinScore >= 0 && q.MinScore <= 1)
			require.LessOrEqual(t, len(q.Filter.Properties), 32)
			b := q.Filter.Bounds
			require.True(t, len(b.Min) <= 32 && len(b.Max) <= 32 && len(b.Prefixes) <= 32)
			d := q.Filter.Document
			require.True(t, len(d.AnyTags) <= maxFilterTags && len(d.AllTags) <= maxFilterTags)
			require.LessOrEqual(t, len(d.IDs), maxFilterDocuments)
			require.True(t, d.From == nil || d.To == nil || d.From.Before(*d.To))
			require.True(t, q.Rerank.Candidates >= 0 && q.Rerank.Candidates <= configured.rerank)
			require.True(t, q.Rerank.Weight >= 0 && q.Rerank.Weight <= 1)
			require.True(t, len(q.Facets.Names) <= 3 && q.Facets.Limit >= 1 && q.Facets.Limit <= maxFacetLimit)
		}
		var hybrid hybridBody
		if check(t, raw, &hybrid) {
			var c request.Check
			q, _ := hybrid.read(&c, uuid.Nil, configured)
			if refused(t, c.Err()) {
				return
			}
			require.True(t, q.Hops >= 0 && q.Hops <= maxHops)
			require.LessOrEqual(t, len(q.Starts), maxStarts)
			require.Positive(t, q.Weights.Text+q.Weights.Vector+q.Weights.Graph)
		}
		var question answerBody
		if check(t, raw, &question) {
			var c request.Check
			q := question.read(&c, uuid.Nil, configured)
			if refused(t, c.Err()) {
				return
			}
			require.True(t, q.MaxSentences >= 1 && q.MaxSentences <= maxSentences && q.Limit >= 1 && q.Offset == 0)
			require.True(t, q.Limit <= request.MaxLimit && q.Hops >= 0 && q.Hops <= maxHops)
			require.True(t, !q.Evidence || len(raw)%2 == 0, "no chat model is configured")
		}
	})
}

func check(t *testing.T, raw []byte, into any) bool {
	t.Helper()
	return !refused(t, request.DecodeJSON(raw, into))
}

func refused(t *testing.T, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	var refusal *fault.Error
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, []fault.Kind{fault.Malformed, fault.Invalid}, refusal.Kind)
	require.NotEmpty(t, refusal.Details["field"])
	return true
}
