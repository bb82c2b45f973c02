package mqtt

import "github.com/prometheus/client_golang/prometheus"

// Outcomes of messages.
const (
	stored   = "stored"   // its points are in the log, or were rejected by the server one by one
	unmapped = "unmapped" // it cannot be mapped to points
	retained = "retained" // it was kept by the broker, and the mapping does not take such messages
	refused  = "refused"  // the server refused the request
	dropped  = "dropped"  // of QoS 0, while too many messages waited
)

// metrics are the metrics of all brokers.
type metrics struct {
	connected *prometheus.GaugeVec
	waiting   *prometheus.GaugeVec
	messages  *prometheus.CounterVec
	points    *prometheus.CounterVec
	duration  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_mqtt_connected", Help: "Whether the broker is connected and all topics are subscribed to.",
		}, []string{"broker"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_mqtt_waiting_messages", Help: "Number of messages that are received and not yet in the log.",
		}, []string{"broker"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_mqtt_messages_total", Help: "Total number of messages by outcome.",
		}, []string{"broker", "outcome"}),
		points: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_mqtt_points_total", Help: "Total number of points that the server accepted or rejected.",
		}, []string{"broker", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "livegraph_mqtt_batch_duration_seconds",
			Help:    "Time from the first message of a batch to its acknowledgement.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"broker"}),
	}
	r.MustRegister(m.connected, m.waiting, m.messages, m.points, m.duration)
	return m
}

// init creates the series of a broker.
func (m *metrics) init(broker string) {
	m.connected.WithLabelValues(broker).Set(0)
	m.waiting.WithLabelValues(broker).Set(0)
	for _, outcome := range []string{stored, unmapped, retained, refused, dropped} {
		m.messages.WithLabelValues(broker, outcome)
	}
	for _, outcome := range []string{"accepted", "rejected"} {
		m.points.WithLabelValues(broker, outcome)
	}
	m.duration.WithLabelValues(broker)
}
