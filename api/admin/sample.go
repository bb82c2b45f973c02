package admin

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// pointsTopic and pointsConsumer are the names of the pipeline of points in metrics.
const (
	pointsTopic    = "points"
	pointsConsumer = "points"
)

// statusClasses are the classes of statuses in the overview.
var statusClasses = []string{"2xx", "3xx", "4xx", "5xx"}

// sample contains the metrics of this process at a time. Counters are absolute; rates are
// computed from two samples.
type sample struct {
	at time.Time

	requests, bytesIn, bytesOut float64
	accepted, rejected          float64
	visible, commands           *float64 // nil: not measured by this process
	statuses                    map[string]float64
	ageBuckets                  []bucket // ages of points, cumulative, by upper bound

	engines     []engineAnswer
	consumers   []consumerAnswer
	deadLetters []deadLetterCount
	connections int64
	streams     int64
	memory      int64
}

// bucket is a bucket of a histogram.
type bucket struct{ bound, count float64 }

// gather takes a sample. Metrics that cannot be gathered are missing in it.
func (o *Overview) gather(now time.Time) sample {
	families, _ := o.Metrics.Gather() // returns partial results with an error
	s := sample{
		at: now, statuses: map[string]float64{}, engines: []engineAnswer{}, consumers: []consumerAnswer{},
		deadLetters: []deadLetterCount{},
	}
	for _, family := range families {
		if read, ok := readers[family.GetName()]; ok {
			for _, m := range family.GetMetric() {
				read(&s, m)
			}
		}
	}
	// A counter that the process has but has not incremented yet is 0, not nil.
	if slices.Contains(o.Roles, "points") {
		s.visible = addOptional(s.visible, 0)
	}
	if slices.Contains(o.Roles, "commands") {
		s.commands = addOptional(s.commands, 0)
	}
	slices.SortFunc(s.engines, func(a, b engineAnswer) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.consumers, func(a, b consumerAnswer) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Group, b.Group))
	})
	slices.SortFunc(s.deadLetters, func(a, b deadLetterCount) int { return cmp.Compare(a.Topic, b.Topic) })
	return s
}

// readers are the functions that add a series to a sample, by name of the metric.
var readers = map[string]func(*sample, *dto.Metric){
	"livegraph_http_requests_total": func(s *sample, m *dto.Metric) {
		n := m.GetCounter().GetValue()
		s.requests += n
		if status := label(m, "status"); status != "" {
			s.statuses[status[:1]+"xx"] += n
		}
	},
	"livegraph_http_request_bytes_total":     func(s *sample, m *dto.Metric) { s.bytesIn += m.GetCounter().GetValue() },
	"livegraph_http_response_bytes_total":    func(s *sample, m *dto.Metric) { s.bytesOut += m.GetCounter().GetValue() },
	"livegraph_ingest_points_accepted_total": func(s *sample, m *dto.Metric) { s.accepted += m.GetCounter().GetValue() },
	"livegraph_ingest_points_rejected_total": func(s *sample, m *dto.Metric) { s.rejected += m.GetCounter().GetValue() },
	"livegraph_consumer_rows_total": func(s *sample, m *dto.Metric) {
		if label(m, "consumer") == pointsConsumer {
			s.visible = addOptional(s.visible, m.GetCounter().GetValue())
		}
	},
	"livegraph_commands_total": func(s *sample, m *dto.Metric) {
		s.commands = addOptional(s.commands, m.GetCounter().GetValue())
	},
	"livegraph_consumer_freshness_seconds": func(s *sample, m *dto.Metric) {
		if label(m, "consumer") != pointsConsumer {
			return
		}
		for _, b := range m.GetHistogram().GetBucket() {
			s.ageBuckets = append(s.ageBuckets, bucket{bound: b.GetUpperBound(), count: float64(b.GetCumulativeCount())})
		}
		s.ageBuckets = append(s.ageBuckets, bucket{bound: math.Inf(1), count: float64(m.GetHistogram().GetSampleCount())})
	},
	"livegraph_engine_up": func(s *sample, m *dto.Metric) { s.engine(m).Up = m.GetGauge().GetValue() == 1 },
	"livegraph_engine_probe_duration_seconds": func(s *sample, m *dto.Metric) {
		s.engine(m).ProbeSeconds = m.GetGauge().GetValue()
	},
	"livegraph_kafka_reader_lag_records": func(s *sample, m *dto.Metric) {
		s.consumer(m).LagRecords = int64(m.GetGauge().GetValue())
	},
	"livegraph_kafka_reader_lag_seconds": func(s *sample, m *dto.Metric) {
		s.consumer(m).LagSeconds = m.GetGauge().GetValue()
	},
	"livegraph_dead_letters": func(s *sample, m *dto.Metric) {
		if label(m, "state") == "open" {
			count := deadLetterCount{Topic: label(m, "topic"), Open: int64(m.GetGauge().GetValue())}
			s.deadLetters = append(s.deadLetters, count)
		}
	},
	"livegraph_http_connections":    func(s *sample, m *dto.Metric) { s.connections = int64(m.GetGauge().GetValue()) },
	"livegraph_graph_streams":       func(s *sample, m *dto.Metric) { s.streams += int64(m.GetGauge().GetValue()) },
	"livegraph_point_streams":       func(s *sample, m *dto.Metric) { s.streams += int64(m.GetGauge().GetValue()) },
	"process_resident_memory_bytes": func(s *sample, m *dto.Metric) { s.memory = int64(m.GetGauge().GetValue()) },
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

func addOptional(sum *float64, n float64) *float64 {
	if sum != nil {
		n += *sum
	}
	return &n
}

// engine returns the sample's row of a metric's engine.
func (s *sample) engine(m *dto.Metric) *engineAnswer {
	name := label(m, "engine")
	i := slices.IndexFunc(s.engines, func(e engineAnswer) bool { return e.Name == name })
	if i < 0 {
		i, s.engines = len(s.engines), append(s.engines, engineAnswer{Name: name})
	}
	return &s.engines[i]
}

// consumer returns the sample's row of a metric's topic and group.
func (s *sample) consumer(m *dto.Metric) *consumerAnswer {
	topic, group := label(m, "topic"), label(m, "group")
	i := slices.IndexFunc(s.consumers, func(c consumerAnswer) bool { return c.Topic == topic && c.Group == group })
	if i < 0 {
		i, s.consumers = len(s.consumers), append(s.consumers, consumerAnswer{Topic: topic, Group: group})
	}
	return &s.consumers[i]
}

// ratesSince returns the rates between two samples.
func (s *sample) ratesSince(before *sample, seconds float64) rates {
	r := rates{
		Requests: perSecond(s.requests, before.requests, seconds),
		BytesIn:  perSecond(s.bytesIn, before.bytesIn, seconds), BytesOut: perSecond(s.bytesOut, before.bytesOut, seconds),
		PointsAccepted: perSecond(s.accepted, before.accepted, seconds),
		PointsRejected: perSecond(s.rejected, before.rejected, seconds),
	}
	if s.visible != nil && before.visible != nil {
		r.PointsVisible = new(perSecond(*s.visible, *before.visible, seconds))
	}
	if s.commands != nil && before.commands != nil {
		r.Commands = new(perSecond(*s.commands, *before.commands, seconds))
	}
	return r
}

// perSecond returns the rate of a counter, rounded to hundredths.
func perSecond(now, before, seconds float64) float64 {
	if seconds <= 0 || now < before {
		return 0
	}
	return round((now-before)/seconds, 2)
}

// freshnessSince returns the age of the points that became visible between two samples, or
// nil if there are none.
func (s *sample) freshnessSince(before *sample) *freshness {
	if len(s.ageBuckets) == 0 || len(before.ageBuckets) != len(s.ageBuckets) {
		return nil
	}
	counts := make([]bucket, len(s.ageBuckets))
	for i, b := range s.ageBuckets {
		counts[i] = bucket{bound: b.bound, count: b.count - before.ageBuckets[i].count}
	}
	if counts[len(counts)-1].count <= 0 {
		return nil
	}
	return &freshness{P50Seconds: quantile(counts, 0.5), P95Seconds: quantile(counts, 0.95)}
}

// quantile estimates a quantile of a histogram with linear interpolation within a bucket, as
// Prometheus does. In the last bucket, which has no upper bound, it returns the lower bound.
func quantile(buckets []bucket, q float64) float64 {
	rank := q * buckets[len(buckets)-1].count
	low, below := 0.0, 0.0
	for _, b := range buckets {
		if b.count >= rank {
			if math.IsInf(b.bound, 1) || b.count == below {
				return low
			}
			return round(low+(b.bound-low)*(rank-below)/(b.count-below), 4)
		}
		low, below = b.bound, b.count
	}
	return low
}

func round(value float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', digits, 64), 64)
	if err != nil {
		return value
	}
	return rounded
}
