package promstore

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// Names of labels that are not tags, or that decide how a source is shown.
const (
	sourceLabel    = "source"
	jobLabel       = "job"
	instanceLabel  = "instance"
	exportedPrefix = "exported_"
)

// RemoteWriteSource is the name of the source to which remote write sends series without job and instance.
const RemoteWriteSource = "prometheus"

// labelBuilder derives the labels of series. It is reused for all series of a query.
type labelBuilder struct {
	builder labels.ScratchBuilder
	own     map[string]string // the labels of the current series
}

func newLabelBuilder() *labelBuilder {
	return &labelBuilder{builder: labels.NewScratchBuilder(16), own: map[string]string{}}
}

// labels returns the labels of a series, see the package's documentation.
func (b *labelBuilder) labels(s *registry.LabelledSeries) labels.Labels {
	clear(b.own)
	b.own[model.MetricNameLabel] = s.Metric
	if hasSourceLabel(s.Source) {
		b.own[sourceLabel] = s.Source.Name
	}
	hasTarget := s.Tags[jobLabel] != "" || s.Tags[instanceLabel] != ""
	for key, value := range s.Source.Tags {
		if s.Tags[key] != "" || value == "" || hasTarget && (key == jobLabel || key == instanceLabel) {
			continue
		}
		b.own[b.freeName(key, s)] = value
	}
	for key, value := range s.Tags {
		if value != "" {
			b.own[b.freeName(key, s)] = value
		}
	}
	b.builder.Reset()
	for name, value := range b.own {
		b.builder.Add(name, value)
	}
	b.builder.Sort()
	return b.builder.Labels()
}

// freeName returns the label name of a tag: the tag's key or, if that is the name of a label that is no
// tag, the key with a prefix that makes it different from all tags.
func (b *labelBuilder) freeName(key string, s *registry.LabelledSeries) string {
	if key != model.MetricNameLabel && (key != sourceLabel || !hasSourceLabel(s.Source)) {
		return key
	}
	name := exportedPrefix + key
	for s.Tags[name] != "" || s.Source.Tags[name] != "" {
		name = exportedPrefix + name
	}
	return name
}

// hasSourceLabel reports whether the series of a source have its name as a label.
func hasSourceLabel(source *registry.LabelledSource) bool {
	return source.Tags[jobLabel] == "" && source.Tags[instanceLabel] == "" && source.Name != RemoteWriteSource
}

// narrow returns the conditions of the matchers that Postgres can check. Each series that matches fulfils
// them, but not the reverse.
func narrow(matchers []*labels.Matcher) *registry.LabelNarrowing {
	n := &registry.LabelNarrowing{}
	for _, m := range matchers {
		values := possibleValues(m)
		if m.Name == model.MetricNameLabel {
			switch prefix := m.Prefix(); {
			case values != nil && n.Metrics == nil:
				n.Metrics = values
			case m.Type == labels.MatchRegexp && n.MetricPrefix == "" && isStorable(prefix):
				n.MetricPrefix = prefix
			}
			continue
		}
		if values == nil || strings.HasPrefix(m.Name, exportedPrefix) { // the tag may have another name
			continue
		}
		n.Values = append(n.Values, registry.LabelValues{
			Tag: m.Name, Values: values, SourceName: m.Name == sourceLabel,
		})
	}
	return n
}

// possibleValues returns the values that a matcher allows, or nil if they are not a list or if it also
// matches series without the label.
func possibleValues(m *labels.Matcher) []string {
	if m.Matches("") {
		return nil
	}
	var values []string
	switch m.Type {
	case labels.MatchEqual:
		values = []string{m.Value}
	case labels.MatchRegexp:
		values = m.SetMatches()
	case labels.MatchNotEqual, labels.MatchNotRegexp:
	}
	if len(values) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(values), func(value string) bool { return !isStorable(value) })
}

// isStorable reports whether a name or value can be in the registry. Postgres refuses other text.
func isStorable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// matchesMetric reports whether a metric fulfils the matchers of the name.
func matchesMetric(matchers []*labels.Matcher, metric string) bool {
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && !m.Matches(metric) {
			return false
		}
	}
	return true
}

// MatchesAll reports whether labels match all matchers.
func MatchesAll(matchers []*labels.Matcher, ls labels.Labels) bool {
	for _, m := range matchers {
		if !m.Matches(ls.Get(m.Name)) {
			return false
		}
	}
	return true
}
