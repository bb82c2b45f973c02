package livegraph_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

// send writes a part of a stream.
func send(w http.ResponseWriter, text string) {
	_, _ = w.Write([]byte(text))
	w.(http.Flusher).Flush()
}

func change(sequence int) string {
	return fmt.Sprintf("id: %d\nevent: change\ndata: {\"sequence\":%d,\"type\":\"CREATE_NODE\"}\n\n", sequence, sequence)
}

func TestAStreamIsResumedAfterTheLastEvent(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		switch n {
		case 1:
			send(w, change(5)+": heartbeat\nid: 7\n\n") // and the connection ends
		case 2:
			fail(w, 503, "INTERNAL_ERROR")
		case 3:
			send(w, change(8)+"id: 9\nevent: change\ndata: {\"seq") // an event that is not complete
			breakOff(w)
		default:
			send(w, change(9))
		}
	})
	stream := s.client(t).Changes.StreamAfter(4)
	var sequences []int64
	for event, err := range stream.Events(t.Context()) {
		noError(t, err)
		got, err := event.Change()
		noError(t, err)
		sequences = append(sequences, got.Sequence)
		if got.Sequence == 9 {
			break
		}
	}
	equal(t, []int64{5, 8, 9}, sequences)
	equal(t, "9", stream.LastID())
	var positions []string
	for _, r := range s.all() {
		equal(t, "text/event-stream", r.header.Get("Accept"))
		positions = append(positions, r.header.Get("Last-Event-ID"))
	}
	equal(t, []string{"4", "7", "7", "8"}, positions)
}

func TestAStreamEndsWithAPermanentError(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			send(w, change(1))
			return
		}
		fail(w, 403, "AUTHORIZATION_ERROR")
	})
	var last error
	events := 0
	for _, err := range s.client(t).Changes.Stream().Events(t.Context()) {
		events++
		last = err
	}
	check(t, events == 2 && errors.Is(last, livegraph.ErrForbidden), "%d events, %v", events, last)
}

func TestAStreamThatEndsAtOnceIsNotOpenedForLong(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { w.WriteHeader(http.StatusOK) })
	retry := livegraph.Retry{First: time.Millisecond, Max: time.Millisecond, MaxAttempts: 4}
	var last error
	for _, err := range s.client(t, livegraph.WithRetry(retry)).Changes.Stream().Events(t.Context()) {
		last = err
	}
	var transport *livegraph.TransportError
	check(t, errors.As(last, &transport), "%v", last)
	equal(t, 4, len(s.all()))
}

func TestASilentStreamIsOpenedAgain(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			send(w, change(1))
			<-release
			return
		}
		send(w, change(2))
	})
	t.Cleanup(func() { close(release) })
	client := s.client(t, livegraph.WithTimeout(200*time.Millisecond))
	for event, err := range client.Changes.Stream().Events(t.Context()) {
		noError(t, err)
		if event.ID == "2" {
			break
		}
	}
	equal(t, 2, len(s.all()))
}

func TestTheEndOfTheContextEndsAStream(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		send(w, change(1))
		<-release
	})
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := s.client(t).Changes.Stream()
	noError(t, stream.Open(ctx))
	equal(t, 1, len(s.all()))
	var last error
	for _, err := range stream.Events(ctx) {
		last = err
		cancel()
	}
	check(t, errors.Is(last, context.Canceled), "%v", last)
	equal(t, 1, len(s.all()))
}

func TestEventsOfPointsAreRead(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		send(w, "id: a\nevent: points\ndata: [{\"metric\":\"m\",\"columns\":[\"timestamp\",\"value\"],"+
			"\"points\":[[\"2026-11-21T07:40:00Z\",1.5]]}]\n\n"+
			"id: b\nevent: deleted\ndata: {\"metric\":null,\"wholeSource\":true}\n\n"+
			"id: c\nevent: dropped\ndata: {\"reason\":\"slow_reader\",\"since\":\"2026-11-21T07:40:00Z\"}\n\n")
	})
	stream := s.client(t).Points.Stream(livegraph.SeriesFilter{Source: "s"}, "z")
	for event, err := range stream.Events(t.Context()) {
		noError(t, err)
		switch event.Type {
		case "points":
			rows, err := event.Points()
			noError(t, err)
			times, values := rows[0].Numbers("value")
			equal(t, time.Date(2026, 11, 21, 7, 40, 0, 0, time.UTC), times[0])
			equal(t, []float64{1.5}, values)
			_, err = event.Gap()
			check(t, err != nil, "the event is not a gap")
		case "deleted":
			deleted, err := event.Deleted()
			noError(t, err)
			check(t, deleted.WholeSource && deleted.Metric == "", "%+v", deleted)
		case "dropped":
			gap, err := event.Gap()
			noError(t, err)
			equal(t, "slow_reader", gap.Reason)
		}
		if event.ID == "c" {
			break
		}
	}
	equal(t, "source=s", s.all()[0].query.Encode())
	equal(t, "z", s.all()[0].header.Get("Last-Event-ID"))
}
