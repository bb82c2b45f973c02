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
	// sampleEvery is how often what the process measures is looked at, whether anybody
	// asks or not, so that anyone who comes sees how it was.
	sampleEvery = 5 * time.Second
	// keptSamples is for how many of them that is remembered: ten minutes.
	keptSamples = 120
	// freshFor is how long a look is good enough.
	freshFor = 900 * time.Millisecond // less than streamEvery, so that each event is a new one
	// streamEvery is how often a stream tells.
	streamEvery = time.Second
	// streamPatience is what a reader has to take an event.
	streamPatience = 10 * time.Second
	// mostStreams bounds those of all operators.
	mostStreams = 100
	// streamsAgain is when it makes sense to try again.
	streamsAgain = 5 * time.Second
)

// Overview is what the overview looks at: what this process measures.
type Overview struct {
	Version string
	Roles   []string
	Started time.Time
	Metrics prometheus.Gatherer

	gathering sync.Mutex // held while a sample is taken, so that many who ask are one

	mu      sync.Mutex
	samples []sample // oldest first, sampleEvery apart
	latest  sample   // at most freshFor old when it is shown
	streams int
}

// overviewAnswer is how the process and the engines are.
type overviewAnswer struct {
	At            time.Time         `json:"at"`
	Version       string            `json:"version"`
	Roles         []string          `json:"roles"`
	StartedAt     time.Time         `json:"startedAt"`
	UptimeSeconds float64           `json:"uptimeSeconds"`
	Engines       []engineAnswer    `json:"engines"`
	Rates         rates             `json:"rates"`
	Requests      []statusRate      `json:"requests"` // by the class of their status
	Consumers     []consumerAnswer  `json:"consumers"`
	Freshness     *freshness        `json:"freshness"`   // null: no points became visible in this process of late
	DeadLetters   []deadLetterCount `json:"deadLetters"` // that are open; none without a role that counts them
	Connections   int64             `json:"connections"`
	Streams       int64             `json:"streams"`
	MemoryBytes   int64             `json:"memoryBytes"`
}

// overviewWithHistory is an overview with how it was in the last minutes, oldest first.
type overviewWithHistory struct {
	overviewAnswer
	History []historyPoint `json:"history"`
}

type engineAnswer struct {
	Name         string  `json:"name"`
	Up           bool    `json:"up"`
	ProbeSeconds float64 `json:"probeSeconds"`
}

// rates are by the second. What only another role's process knows is null.
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

// historyPoint is how it was at a time.
type historyPoint struct {
	At             time.Time  `json:"at"`
	Requests       float64    `json:"requests"`
	Errors         float64    `json:"errors"` // answers of 5xx
	PointsAccepted float64    `json:"pointsAccepted"`
	PointsVisible  *float64   `json:"pointsVisible"`
	LagRecords     int64      `json:"lagRecords"` // of topic points
	LagSeconds     float64    `json:"lagSeconds"` // of the slowest consumer
	Freshness      *freshness `json:"freshness"`  // null: no points became visible
}

// watch takes samples until ctx is done.
func (o *Overview) watch(ctx context.Context) {
	for {
		o.keep(time.Now())
		if !sleep.For(ctx, sampleEvery) {
			return
		}
	}
}

func (o *Overview) keep(now time.Time) {
	taken := o.take(now)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = taken
	o.samples = append(o.samples, taken)
	if len(o.samples) > keptSamples+1 {
		o.samples = append(o.samples[:0:0], o.samples[1:]...)
	}
}

// look returns a sample that is fresh enough, and an older one to compare it with.
func (o *Overview) look(now time.Time) (latest, before sample) {
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

// refresh takes a sample unless there is one that is fresh enough.
func (o *Overview) refresh(now time.Time) {
	o.gathering.Lock()
	defer o.gathering.Unlock()
	o.mu.Lock()
	stale := now.Sub(o.latest.at) >= freshFor
	o.mu.Unlock()
	if !stale {
		return
	}
	taken := o.take(now)
	o.mu.Lock()
	defer o.mu.Unlock()
	if taken.at.After(o.latest.at) {
		o.latest = taken
	}
}

// now reports how it is.
func (o *Overview) now(at time.Time) overviewAnswer {
	latest, before := o.look(at)
	span := latest.at.Sub(before.at).Seconds()
	answer := overviewAnswer{
		At: latest.at.UTC().Truncate(time.Microsecond), Version: o.Version, Roles: o.Roles,
		StartedAt:     o.Started.UTC().Truncate(time.Microsecond),
		UptimeSeconds: math.Round(at.Sub(o.Started).Seconds()*10) / 10,
		Engines:       latest.engines, Requests: []statusRate{}, Consumers: latest.consumers, DeadLetters: latest.dead,
		Connections: latest.connections, Streams: latest.streams, MemoryBytes: latest.memory,
		Rates: latest.since(&before, span), Freshness: latest.freshSince(&before),
	}
	for _, class := range statusClasses {
		answer.Requests = append(answer.Requests, statusRate{Status: class, PerSecond: perSecond(
			latest.statuses[class], before.statuses[class], span,
		)})
	}
	return answer
}

// history reports how it was, from sample to sample.
func (o *Overview) history() []historyPoint {
	o.mu.Lock()
	defer o.mu.Unlock()
	points := make([]historyPoint, 0, len(o.samples))
	for i := 1; i < len(o.samples); i++ {
		s, before := &o.samples[i], &o.samples[i-1]
		span := s.at.Sub(before.at).Seconds()
		rates := s.since(before, span)
		p := historyPoint{
			At: s.at.UTC().Truncate(time.Microsecond), Requests: rates.Requests, PointsAccepted: rates.PointsAccepted,
			PointsVisible: rates.PointsVisible,
			Freshness:     s.freshSince(before),
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

// overview reports how the process and the engines are.
func (a *Admin) overview(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	o := a.deps.Overview
	reply.Data(w, r, http.StatusOK, overviewWithHistory{overviewAnswer: o.now(time.Now()), History: o.history()})
	return nil
}

// overviewStream tells so each second.
func (a *Admin) overviewStream(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventstream.ContentType)
		return nil
	}
	o := a.deps.Overview
	if err := o.enter(); err != nil {
		return err
	}
	defer o.leave()
	out, err := eventstream.Open(w, streamPatience)
	if err != nil {
		return err
	}
	ctx, stop := out.Guard(r.Context(), request.SessionOf(r.Context()))
	defer stop()
	for {
		event, err := json.Marshal(o.now(time.Now()))
		if err != nil {
			return err
		}
		out.Event("overview", 0, event)
		if err := out.Flush(); err != nil || !sleep.For(ctx, streamEvery) {
			return nil // the reader is gone, or must go
		}
	}
}

func (o *Overview) enter() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streams >= mostStreams {
		return fault.New(fault.Unavailable, "Too many streams are open").After(streamsAgain)
	}
	o.streams++
	return nil
}

func (o *Overview) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams--
}
