package rules

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"github.com/livegraph/livegraph/internal/nativehistogram"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

const (
	writeTimeout   = 10 * time.Second // of points, with retries
	visibleTimeout = 5 * time.Second
	visiblePoll    = 50 * time.Millisecond
)

// appendable writes points through the ordinary ingest.
type appendable struct{ *evaluator }

// Appender returns an appender for the result of a rule.
func (a appendable) Appender(ctx context.Context) storage.Appender {
	return &appender{evaluator: a.evaluator, ctx: ctx}
}

// appender collects the points of a rule and writes them when it is committed.
type appender struct {
	*evaluator
	ctx    context.Context //nolint:containedctx // Prometheus' interface passes it to the constructor
	series []prompb.TimeSeries
}

// Append adds a point.
func (a *appender) Append(_ storage.SeriesRef, ls labels.Labels, t int64, v float64) (storage.SeriesRef, error) {
	a.add(ls, prompb.TimeSeries{Samples: []prompb.Sample{{Timestamp: t, Value: v}}})
	return 0, nil
}

// AppendHistogram adds a point that is a native histogram.
func (a *appender) AppendHistogram(
	_ storage.SeriesRef, ls labels.Labels, t int64, h *histogram.Histogram, fh *histogram.FloatHistogram,
) (storage.SeriesRef, error) {
	message := nativehistogram.Histogram{Int: h, Float: fh}.Message(t)
	a.add(ls, prompb.TimeSeries{Histograms: []prompb.Histogram{message}})
	return 0, nil
}

func (a *appender) add(ls labels.Labels, series prompb.TimeSeries) {
	ls.Range(func(l labels.Label) {
		series.Labels = append(series.Labels, prompb.Label{Name: l.Name, Value: l.Value})
	})
	a.series = append(a.series, series)
}

// Commit writes the points. If other rules of the group read them, it waits until they are visible.
func (a *appender) Commit() error {
	if len(a.series) == 0 {
		return nil
	}
	body, err := (&prompb.WriteRequest{Timeseries: a.series}).Marshal()
	if err != nil {
		return fmt.Errorf("encoding points: %w", err)
	}
	ctx, cancel := context.WithTimeout(a.ctx, writeTimeout)
	defer cancel()
	var result Written
	// Points with the same time and labels count once, so that they may be sent again.
	for wait := retry.New(100*time.Millisecond, 2*time.Second); ; {
		result, err = a.Write(ctx, a.workspace, body)
		if !fault.Is(err, fault.Unavailable) || !wait.Wait(ctx) {
			break
		}
	}
	switch {
	case err != nil:
		return a.publicError(err)
	case result.Rejected > 0:
		return fmt.Errorf("%d points were rejected: %s", result.Rejected, result.Reason)
	}
	a.metrics.recorded.Add(float64(result.Accepted))
	if a.isRead() {
		a.awaitVisible(a.ctx, result.Positions)
	}
	return nil
}

// isRead reports whether other rules of the group read what was appended, or may do so.
func (a *appender) isRead() bool {
	g, ok := a.ctx.Value(groupKey{}).(*rules.Group)
	if !ok {
		return false
	}
	for _, l := range a.series[0].Labels {
		if l.Name != model.MetricNameLabel {
			continue
		}
		for _, r := range g.Rules() {
			_, alerts := r.(*rules.AlertingRule)
			if !r.NoDependentRules() && (r.Name() == l.Value || alerts && strings.HasPrefix(l.Value, "ALERTS")) {
				return true
			}
		}
	}
	return false
}

// awaitVisible waits until queries return the points of records of the log, for a limited time.
func (e *evaluator) awaitVisible(ctx context.Context, positions []pointblock.Position) {
	deadline := time.Now().Add(visibleTimeout)
	for {
		marks, err := e.Watermarks.Watermarks(ctx, e.TopicID())
		visible := err == nil
		for _, p := range positions {
			visible = visible && marks[p.Partition] > p.Offset
		}
		if visible || ctx.Err() != nil {
			return
		}
		if time.Now().After(deadline) || !sleep.For(ctx, visiblePoll) {
			e.metrics.invisible.Inc()
			return
		}
	}
}

// Rollback drops the points.
func (a *appender) Rollback() error {
	a.series = nil
	return nil
}

// SetOptions does nothing: points of any order are accepted.
func (*appender) SetOptions(*storage.AppendOptions) {}

// AppendExemplar does nothing.
func (*appender) AppendExemplar(storage.SeriesRef, labels.Labels, exemplar.Exemplar) (storage.SeriesRef, error) {
	return 0, nil
}

// UpdateMetadata does nothing.
func (*appender) UpdateMetadata(storage.SeriesRef, labels.Labels, metadata.Metadata) (storage.SeriesRef, error) {
	return 0, nil
}

// AppendSTZeroSample does nothing.
func (*appender) AppendSTZeroSample(storage.SeriesRef, labels.Labels, int64, int64) (storage.SeriesRef, error) {
	return 0, nil
}

// AppendHistogramSTZeroSample does nothing.
func (*appender) AppendHistogramSTZeroSample(
	storage.SeriesRef, labels.Labels, int64, int64, *histogram.Histogram, *histogram.FloatHistogram,
) (storage.SeriesRef, error) {
	return 0, nil
}
