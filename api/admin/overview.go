package admin

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// sampleEvery is the interval of samples. They are also taken while nobody reads the
	// overview, so that it shows the history.
	sampleEvery = 5 * time.Second
	// maxSamples is the number of samples that are kept: ten minutes.
	maxSamples = 120
	// maxSampleAge is how long a sample is reused.
	maxSampleAge = 900 * time.Millisecond // less than streamEvery, so that each event is a new one
	// streamEvery is the interval of a stream's events.
	streamEvery = time.Second
	// streamWriteTimeout is the maximum time for writing an event.
	streamWriteTimeout = 10 * time.Second
	// maxStreams is the maximum number of streams of all operators.
	maxStreams = 100
	// streamsRetryAfter is the Retry-After beyond maxStreams.
	streamsRetryAfter = 5 * time.Second
)

// Overview collects the data of the overview from the metrics of this process.
type Overview struct {
	Version string
	Roles   []string
	Started time.Time
	Metrics prometheus.Gatherer

	gathering sync.Mutex // held while a sample is taken, so that concurrent requests share one

	mu      sync.Mutex
	samples []sample // oldest first, sampleEvery apart
	latest  sample   // at most maxSampleAge old in responses
	streams int
}

// overviewAnswer is the state of the process and the engines.
type overviewAnswer struct {
	At            time.Time         `json:"at"`
	Version       string            `json:"version"`
	Roles         []string          `json:"roles"`
	StartedAt     time.Time         `json:"startedAt"`
	UptimeSeconds float64           `json:"uptimeSeconds"`
	Engines       []engineAnswer    `json:"engines"`
	Rates         rates             `json:"rates"`
	Requests      []statusRate      `json:"requests"` // by class of status
	Consumers     []consumerAnswer  `json:"consumers"`
	Freshness     *freshness        `json:"freshness"`   // null: no points became visible in this process recently
	DeadLetters   []deadLetterCount `json:"deadLetters"` // open ones; empty without a role that counts them
	Connections   int64             `json:"connections"`
	Streams       int64             `json:"streams"`
	MemoryBytes   int64             `json:"memoryBytes"`
}

// overviewWithHistory is an overview with the history of the last minutes, oldest first.
type overviewWithHistory struct {
	overviewAnswer
	History []historyPoint `json:"history"`
}

type engineAnswer struct {
	Name         string  `json:"name"`
	Up           bool    `json:"up"`
	ProbeSeconds float64 `json:"probeSeconds"`
}

// rates are per second. A rate is null if only processes of another role measure it.
type rates struct {
	Requests       float64  `json:"requests"`
	BytesIn        float64  `json:"bytesIn"`
	BytesOut       float64  `json:"bytesOut"`
	PointsAccepted float64  `json:"pointsAccepted"`
	PointsRejected float64  `json:"pointsRejected"`
	PointsVisible  *float64 `json:"pointsVisible"`
	Commands       *float64 `json:"commands"`
}

type statusRate struct {
	Status    string  `json:"status"` // 2xx
	PerSecond float64 `json:"perSecond"`
}

type consumerAnswer struct {
	Topic      string  `json:"topic"`
	Group      string  `json:"group"` // a topic may have several
	LagRecords int64   `json:"lagRecords"`
	LagSeconds float64 `json:"lagSeconds"` // of the slowest partition
}

// freshness is the age of points when they became visible.
type freshness struct {
	P50Seconds float64 `json:"p50Seconds"`
	P95Seconds float64 `json:"p95Seconds"`
}

type deadLetterCount struct {
	Topic string `json:"topic"`
	Open  int64  `json:"open"`
}

// historyPoint is the state at one sample.
type historyPoint struct {
	At             time.Time  `json:"at"`
	Requests       float64    `json:"requests"`
	Errors         float64    `json:"errors"` // responses of 5xx
	PointsAccepted float64    `json:"pointsAccepted"`
	PointsVisible  *float64   `json:"pointsVisible"`
	LagRecords     int64      `json:"lagRecords"` // of topic points
	LagSeconds     float64    `json:"lagSeconds"` // of the slowest consumer
	Freshness      *freshness `json:"freshness"`  // null: no points became visible
}

// run takes samples until ctx is done.
func (o *Overview) run(ctx context.Context) {
	for {
		o.addSample(time.Now())
		if !sleep.For(ctx, sampleEvery) {
			return
		}
	}
}

func (o *Overview) addSample(now time.Time) {
	taken := o.gather(now)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = taken
	o.samples = append(o.samples, taken)
	if len(o.samples) > maxSamples+1 {
		o.samples = append(o.samples[:0:0], o.samples[1:]...)
	}
}

// latestSamples returns the latest sample, at most maxSampleAge old, and an older one for
// computing rates.
func (o *Overview) latestSamples(now time.Time) (latest, before sample) {
	o.refresh(now)
	o.mu.Lock()
	defer o.mu.Unlock()
	before = o.latest
	for i := len(o.samples) - 1; i >= 0; i-- {
		if before = o.samples[i]; o.latest.at.Sub(before.at) >= sampleEvery/2 {
			break
		}
	}
	return o.latest, before
}

// refresh takes a sample if the latest one is older than maxSampleAge.
func (o *Overview) refresh(now time.Time) {
	o.gathering.Lock()
	defer o.gathering.Unlock()
	o.mu.Lock()
	stale := now.Sub(o.latest.at) >= maxSampleAge
	o.mu.Unlock()
	if !stale {
		return
	}
	taken := o.gather(now)
	o.mu.Lock()
	defer o.mu.Unlock()
	if taken.at.After(o.latest.at) {
		o.latest = taken
	}
}

// current returns the overview at a time.
func (o *Overview) current(at time.Time) overviewAnswer {
	latest, before := o.latestSamples(at)
	span := latest.at.Sub(before.at).Seconds()
	answer := overviewAnswer{
		At: latest.at.UTC().Truncate(time.Microsecond), Version: o.Version, Roles: o.Roles,
		StartedAt:     o.Started.UTC().Truncate(time.Microsecond),
		UptimeSeconds: math.Round(at.Sub(o.Started).Seconds()*10) / 10,
		Engines:       latest.engines, Requests: []statusRate{}, Consumers: latest.consumers, DeadLetters: latest.deadLetters,
		Connections: latest.connections, Streams: latest.streams, MemoryBytes: latest.memory,
		Rates: latest.ratesSince(&before, span), Freshness: latest.freshnessSince(&before),
	}
	for _, class := range statusClasses {
		answer.Requests = append(answer.Requests, statusRate{Status: class, PerSecond: perSecond(
			latest.statuses[class], before.statuses[class], span,
		)})
	}
	return answer
}

// history returns a point for each pair of consecutive samples.
func (o *Overview) history() []historyPoint {
	o.mu.Lock()
	defer o.mu.Unlock()
	points := make([]historyPoint, 0, len(o.samples))
	for i := 1; i < len(o.samples); i++ {
		s, before := &o.samples[i], &o.samples[i-1]
		span := s.at.Sub(before.at).Seconds()
		rates := s.ratesSince(before, span)
		p := historyPoint{
			At: s.at.UTC().Truncate(time.Microsecond), Requests: rates.Requests, PointsAccepted: rates.PointsAccepted,
			PointsVisible: rates.PointsVisible,
			Freshness:     s.freshnessSince(before),
			Errors:        perSecond(s.statuses["5xx"], before.statuses["5xx"], span),
		}
		for _, c := range s.consumers {
			if c.Topic == pointsTopic {
				p.LagRecords = c.LagRecords
			}
			p.LagSeconds = max(p.LagSeconds, c.LagSeconds)
		}
		points = append(points, p)
	}
	return points
}

// overview returns the overview with its history.
func (a *Admin) overview(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	o := a.deps.Overview
	reply.Data(w, r, http.StatusOK, overviewWithHistory{overviewAnswer: o.current(time.Now()), History: o.history()})
	return nil
}

// overviewStream sends the overview each second.
func (a *Admin) overviewStream(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventstream.ContentType)
		return nil
	}
	o := a.deps.Overview
	if err := o.acquireStream(); err != nil {
		return err
	}
	defer o.releaseStream()
	out, err := eventstream.Open(w, streamWriteTimeout)
	if err != nil {
		return err
	}
	ctx, stop := out.Guard(r.Context(), request.SessionOf(r.Context()))
	defer stop()
	for {
		event, err := json.Marshal(o.current(time.Now()))
		if err != nil {
			return err
		}
		out.Event("overview", 0, event)
		if err := out.Flush(); err != nil || !sleep.For(ctx, streamEvery) {
			return nil // the client has disconnected, or the stream must end
		}
	}
}

func (o *Overview) acquireStream() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streams >= maxStreams {
		return fault.New(fault.Unavailable, "Too many streams are open").After(streamsRetryAfter)
	}
	o.streams++
	return nil
}

func (o *Overview) releaseStream() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams--
}
