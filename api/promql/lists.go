package promql

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

const (
	// maxMatchers is the maximum number of parameters match[].
	maxMatchers = 100
	// maxDescribed is the maximum number of sources whose descriptions of metrics are read.
	maxDescribed = 10_000
)

// selectors returns the selectors in the parameters match[], and checks the other common parameters.
// start and end are checked only: the lists contain series whether or not they have samples in the range.
func (a *api) selectors(c *call) (list [][]*labels.Matcher, limit int, err error) {
	if limit, err = c.form.limit(); err != nil {
		return nil, 0, err
	}
	for _, name := range []string{"start", "end"} {
		if _, err := c.form.time(name, c.now); err != nil {
			return nil, 0, err
		}
	}
	texts := c.form.values["match[]"]
	if len(texts) > maxMatchers {
		return nil, 0, invalidParameter("match[]", "must be given at most 100 times")
	}
	for _, text := range texts {
		if len(text) > promengine.MaxText {
			return nil, 0, invalidParameter("match[]", "is too long")
		}
		matchers, err := promengine.Parser.ParseMetricSelector(text)
		if err != nil {
			return nil, 0, invalidParameter("match[]", err.Error())
		}
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches("") }) {
			return nil, 0, invalidParameter("match[]", "must contain at least one non-empty matcher")
		}
		list = append(list, matchers)
	}
	return list, limit, nil
}

// eachSeries calls each for the series of any of the selectors, perhaps several times. Without
// selectors it calls each for all series.
func (a *api) eachSeries(
	ctx context.Context, c *call, selectors [][]*labels.Matcher, each func(labels.Labels) (more bool),
) error {
	if len(selectors) == 0 {
		selectors = [][]*labels.Matcher{nil}
	}
	leave, err := a.places.acquire(ctx, c.workspace)
	if err != nil {
		return err
	}
	defer leave()
	query := a.Store.Query(c.workspace, c.now)
	for _, matchers := range selectors {
		if err := query.Series(ctx, matchers, each); err != nil {
			return err
		}
	}
	return nil
}

// series lists the label sets that match any of the selectors.
func (a *api) series(ctx context.Context, c *call) (result answer, _ func(), err error) {
	selectors, limit, err := a.selectors(c)
	if err != nil {
		return result, nil, err
	}
	if len(selectors) == 0 {
		return result, nil, fault.New(fault.Malformed, "no match[] parameter provided").With("field", "match[]")
	}
	found := map[string]labels.Labels{}
	err = a.eachSeries(ctx, c, selectors, func(ls labels.Labels) bool {
		found[string(ls.Bytes(nil))] = ls
		return len(found) <= a.Store.MaxSeries
	})
	if err != nil {
		return result, nil, err
	}
	if len(found) > a.Store.MaxSeries {
		return result, nil, tooMany("series", a.Store.MaxSeries)
	}
	list, cut := firstOf(slices.SortedFunc(maps.Values(found), labels.Compare), limit)
	return listAnswer(labelSets(list), cut), nil, nil
}

// labels lists the names of labels.
func (a *api) labels(ctx context.Context, c *call) (answer, func(), error) {
	return a.listTexts(ctx, c, func(ls labels.Labels, found map[string]bool) {
		ls.Range(func(l labels.Label) { found[l.Name] = true })
	})
}

// labelValues lists the values of a label.
func (a *api) labelValues(ctx context.Context, c *call) (result answer, _ func(), err error) {
	name := chi.URLParam(c.Request, "name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return result, nil, fault.Newf(fault.Malformed, "invalid label name: %q", name)
	}
	if name == model.MetricNameLabel && len(c.form.values["match[]"]) == 0 {
		return a.metrics(ctx, c)
	}
	return a.listTexts(ctx, c, func(ls labels.Labels, found map[string]bool) {
		if value := ls.Get(name); value != "" {
			found[value] = true
		}
	})
}

// metrics lists the names of all metrics.
func (a *api) metrics(ctx context.Context, c *call) (result answer, _ func(), err error) {
	_, limit, err := a.selectors(c)
	if err != nil {
		return result, nil, err
	}
	list, err := a.Store.Query(c.workspace, c.now).Metrics(ctx, a.Store.MaxSeries+1)
	if err != nil {
		return result, nil, err
	}
	slices.Sort(list)
	return a.texts(list, limit)
}

// listTexts lists the texts that add finds in the labels of the selected series.
func (a *api) listTexts(
	ctx context.Context, c *call, add func(ls labels.Labels, found map[string]bool),
) (result answer, _ func(), err error) {
	selectors, limit, err := a.selectors(c)
	if err != nil {
		return result, nil, err
	}
	found := map[string]bool{}
	err = a.eachSeries(ctx, c, selectors, func(ls labels.Labels) bool {
		add(ls, found)
		return len(found) <= a.Store.MaxSeries
	})
	if err != nil {
		return result, nil, err
	}
	return a.texts(slices.Sorted(maps.Keys(found)), limit)
}

func (a *api) texts(list []string, limit int) (result answer, _ func(), err error) {
	if len(list) > a.Store.MaxSeries {
		return result, nil, tooMany("values", a.Store.MaxSeries)
	}
	list, cut := firstOf(list, limit)
	return listAnswer(texts(list), cut), nil, nil
}

// listAnswer returns the answer with a list, and with a warning if it was cut to a limit.
func listAnswer(list encoder, cut bool) answer {
	a := answer{data: list}
	if cut {
		a.warnings = []string{errTruncated.Error()}
	}
	return a
}

func tooMany(what string, limit int) error {
	return fault.Newf(fault.Invalid, "The answer has more than %d %s: select fewer series by match[]", limit, what)
}

// metadata lists the types, descriptions and units of metrics that Prometheus sent, and the descriptions and units
// that sources have of their metrics.
func (a *api) metadata(ctx context.Context, c *call) (result answer, _ func(), err error) {
	list := metadataList{wanted: c.form.get("metric"), found: map[string][]metricMetadata{}}
	if list.limit, err = c.form.limit(); err != nil {
		return result, nil, err
	}
	if list.perMetric, err = c.form.number("limit_per_metric"); err != nil {
		return result, nil, err
	}
	count := registry.MaxMetricMetadata
	if list.limit > 0 {
		count = min(count, list.limit)
	}
	sent, err := a.Metadata.MetricMetadata(ctx, c.workspace, list.wanted, count)
	if err != nil {
		return result, nil, err
	}
	for _, m := range sent {
		list.add(m.Metric, metricMetadata{Type: m.Type, Help: m.Help, Unit: m.Unit})
	}
	sources, err := a.Metadata.DescribedMetrics(ctx, c.workspace, maxDescribed)
	if err != nil {
		return result, nil, err
	}
	for i := range sources {
		for _, m := range sources[i].Metrics {
			unit := deref(sources[i].MetricUnit(m.Name))
			list.add(m.Name, metricMetadata{Type: metricmetadata.TypeOf(0), Help: deref(m.Description), Unit: unit})
		}
	}
	result.data = object{list.found}
	return result, nil, nil
}

// metadataList collects metadata by the names of metrics.
type metadataList struct {
	wanted           string // the only metric; empty: all
	limit, perMetric int    // 0: none
	found            map[string][]metricMetadata
}

func (l *metadataList) add(metric string, m metricMetadata) {
	known, ok := l.found[metric]
	switch {
	case l.wanted != "" && metric != l.wanted, slices.Contains(known, m), l.perMetric > 0 && len(known) >= l.perMetric,
		!ok && l.limit > 0 && len(l.found) >= l.limit:
	default:
		l.found[metric] = append(known, m)
	}
}

type metricMetadata struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// buildInfo answers with the version of Prometheus that the engine is of, by which Grafana chooses the
// features that it uses. The revision is the version of Livegraph.
func (a *api) buildInfo(context.Context, *call) (answer, func(), error) {
	return answer{data: object{map[string]string{
		"version": EngineVersion, "revision": a.Version, "branch": "", "buildUser": "livegraph", "buildDate": "",
		"goVersion": runtime.Version(),
	}}}, nil, nil
}
