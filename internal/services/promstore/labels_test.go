package promstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

func drawSeries(t *rapid.T) *registry.LabelledSeries {
	keys := []string{"a", "job", "instance", "source", "exported_source", "exported_exported_source", "__name__"}
	value := rapid.SampledFrom([]string{"", "x", "y", "prometheus"})
	tags := rapid.MapOfN(rapid.SampledFrom(keys), value, 0, 5)
	return &registry.LabelledSeries{
		Metric: rapid.SampledFrom([]string{"up", "upper", "m"}).Draw(t, "metric"), Tags: tags.Draw(t, "tags"),
		Source: &registry.LabelledSource{
			Name: rapid.SampledFrom([]string{"x", "y", RemoteWriteSource}).Draw(t, "source"),
			Tags: tags.Draw(t, "source's tags"),
		},
	}
}

// Every own tag and the metric can be read from the labels, so that two series of one source never have the
// same labels.
func TestNoOwnTagIsLostInLabels(t *testing.T) {
	b := newLabelBuilder()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeries(t)
		ls := b.labels(s)
		require.Equal(t, s.Metric, ls.Get(model.MetricNameLabel))
		repeated, ok := ls.HasDuplicateLabelNames()
		require.False(t, ok, repeated)
		for key, value := range s.Tags {
			if value == "" {
				continue
			}
			require.Equal(t, value, ls.Get(b.freeName(key, s)), "%s of %s", key, ls)
		}
		if hasSourceLabel(s.Source) {
			require.Equal(t, s.Source.Name, ls.Get("source"))
		}
	})
}

// fulfils reports whether a series fulfils a narrowing, as the statement in Postgres does.
func fulfils(s *registry.LabelledSeries, n *registry.LabelNarrowing) bool {
	if n.Metrics != nil && !slices.Contains(n.Metrics, s.Metric) || !strings.HasPrefix(s.Metric, n.MetricPrefix) {
		return false
	}
	for _, v := range n.Values {
		tag, ok := s.Tags[v.Tag]
		own, has := s.Source.Tags[v.Tag]
		found := ok && slices.Contains(v.Values, tag) || has && slices.Contains(v.Values, own) ||
			v.SourceName && slices.Contains(v.Values, s.Source.Name)
		if !found {
			return false
		}
	}
	return true
}

// A series that matches is never excluded in Postgres.
func TestNarrowingExcludesNoMatch(t *testing.T) {
	b := newLabelBuilder()
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeries(t)
		var matchers []*labels.Matcher
		for range rapid.IntRange(1, 20).Draw(t, "matchers") {
			name := rapid.SampledFrom([]string{
				"__name__", "a", "job", "instance", "source", "exported_source", "exported___name__",
			}).Draw(t, "name")
			kind := rapid.SampledFrom([]labels.MatchType{
				labels.MatchEqual, labels.MatchNotEqual, labels.MatchRegexp, labels.MatchNotRegexp,
			}).Draw(t, "type")
			value := rapid.SampledFrom([]string{
				"", "x", "up", "x|y", "up.*", ".+", "prom.*", "(?i:X)", "m|up", "\x00", "x|\xff",
			}).Draw(t, "value")
			if m, err := labels.NewMatcher(kind, name, value); err == nil && m.Matches(b.labels(s).Get(name)) {
				matchers = append(matchers, m)
			}
		}
		matched += len(matchers)
		require.True(t, MatchesAll(matchers, b.labels(s)))
		require.True(t, matchesMetric(matchers, s.Metric))
		require.True(t, fulfils(s, narrow(matchers)), "%v", matchers)
	})
	require.Positive(t, matched)
}

func TestTimesAreRoundedDown(t *testing.T) {
	s := samples{times: []int64{0, 999, 1000, 1001, 5000}, values: []float64{1, 2, 3, 4, 5}}
	s.toMilliseconds()
	require.Equal(t, samples{times: []int64{0, 1, 5}, values: []float64{2, 4, 5}}, s)
	s = samples{
		times: []int64{0, 999, 2000}, values: []float64{1, 2, 3}, histograms: []string{"a", "b", ""},
	}
	s.toMilliseconds()
	require.Equal(t, samples{times: []int64{0, 2}, values: []float64{2, 3}, histograms: []string{"b", ""}}, s)
}

func TestSeriesWithEqualLabelsAreMerged(t *testing.T) {
	one := func(id uint64, label string, times ...int64) *series {
		s := &series{labels: labels.FromStrings("a", label), registered: registry.Series{ID: id}}
		s.times = times
		for range times {
			s.values = append(s.values, float64(id))
		}
		return s
	}
	set := newSeriesSet([]*series{one(3, "x", 1, 4, 5), one(2, "y", 1), one(1, "x", 2, 4, 6)})
	require.True(t, set.Next())
	it := set.At().Iterator(nil)
	var times []int64
	var values []float64
	for it.Next() != 0 {
		ms, v := it.At()
		times, values = append(times, ms), append(values, v)
	}
	require.Equal(t, []int64{1, 2, 4, 5, 6}, times)
	require.Equal(t, []float64{3, 1, 1, 3, 1}, values)
	require.True(t, set.Next())
	require.False(t, set.Next())
}

// The tag of a label with the prefix may be named without it.
func TestLabelsThatMayBeRenamedAreNotNarrowed(t *testing.T) {
	n := narrow([]*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "exported_source", "x")})
	require.Empty(t, n.Values)
	n = narrow([]*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "source", "x")})
	require.Equal(t, []registry.LabelValues{{Tag: "source", Values: []string{"x"}, SourceName: true}}, n.Values)
}
