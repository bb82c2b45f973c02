package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/rules"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
)

const (
	maxQueuedAlerts = 1000             // of a workspace
	sendTimeout     = 10 * time.Second // of a request
	maxAnswer       = 4 << 10          // bytes of an answer that are read
)

// sentAlert is an alert as Alertmanager's API has it.
type sentAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// sender sends the alerts of a workspace to its Alertmanagers. Nothing is stored: an alert is sent again every minute
// while it fires, and a quarter of an hour long after it was resolved.
type sender struct {
	*Runner
	workspace uuid.UUID
	logger    *slog.Logger
	outages   outage.Log
	wake      chan struct{} // has an element if alerts wait

	mu      sync.Mutex
	waiting []sentAlert
}

func newSender(r *Runner, workspace uuid.UUID, logger *slog.Logger) *sender {
	return &sender{
		Runner: r, workspace: workspace, logger: logger, wake: make(chan struct{}, 1),
		outages: outage.Log{Failed: "alerts are not sent to Alertmanager", Recovered: "alerts are sent again"},
	}
}

// notify queues alerts. If the queue is full, it drops the oldest.
func (s *sender) notify(_ context.Context, _ string, alerts ...*rules.Alert) {
	if len(alerts) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range alerts {
		ends := a.ValidUntil
		if !a.ResolvedAt.IsZero() {
			ends = a.ResolvedAt
		}
		s.waiting = append(s.waiting, sentAlert{a.Labels.Map(), a.Annotations.Map(), a.FiredAt.UTC(), ends.UTC()})
	}
	if surplus := len(s.waiting) - maxQueuedAlerts; surplus > 0 {
		s.metrics.sent.WithLabelValues("dropped").Add(float64(surplus))
		s.waiting = s.waiting[surplus:]
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends queued alerts until ctx is done.
func (s *sender) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.mu.Lock()
		alerts := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		if len(alerts) > 0 {
			s.outages.Note(ctx, s.logger, s.send(ctx, alerts))
		}
	}
}

// send sends alerts to all Alertmanagers at the same time.
func (s *sender) send(ctx context.Context, alerts []sentAlert) error {
	managers, err := s.Store.Alertmanagers(ctx, s.workspace)
	if err != nil || len(managers) == 0 {
		return err
	}
	body, err := json.Marshal(alerts)
	if err != nil {
		return fmt.Errorf("encoding alerts: %w", err)
	}
	errs := make([]error, len(managers))
	var sending sync.WaitGroup
	for i := range managers {
		sending.Go(func() { errs[i] = s.sendTo(ctx, &managers[i], body) })
	}
	sending.Wait()
	return errors.Join(errs...)
}

// sendTo sends alerts to an Alertmanager and records the result. The error is that of the request.
func (s *sender) sendTo(ctx context.Context, to *alerting.Alertmanager, body []byte) error {
	err := s.post(ctx, to, body)
	if err != nil && ctx.Err() != nil {
		return err // the process ends: the Alertmanager has not failed
	}
	outcome, failure := "sent", ""
	if err != nil {
		outcome, failure = "failed", err.Error()
	}
	s.metrics.sent.WithLabelValues(outcome).Inc()
	// The next request records its result: there is one each minute while alerts fire.
	if recordErr := s.Store.RecordResult(ctx, s.workspace, to, failure); recordErr != nil && err == nil {
		return recordErr
	}
	return err
}

func (s *sender) post(ctx context.Context, to *alerting.Alertmanager, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	address := strings.TrimRight(to.URL, "/") + "/api/v2/alerts"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL is not valid")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "Livegraph")
	authenticate(request, to)
	answer, err := s.Client.Do(request)
	if err != nil {
		return errors.New(outbound.Reason(err)) // the log must not have what tenants wrote
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // so that the connection can be used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("an Alertmanager answers %d", answer.StatusCode)
	}
	return nil
}

// authenticate adds the credentials and the further headers of an Alertmanager to a request. They reach only its URL:
// the client follows no redirects.
func authenticate(request *http.Request, to *alerting.Alertmanager) {
	for name, value := range to.Headers {
		request.Header.Set(name, value.Reveal())
	}
	switch to.Auth {
	case alerting.Basic:
		request.SetBasicAuth(to.Username, to.Secret.Reveal())
	case alerting.Bearer:
		request.Header.Set("Authorization", "Bearer "+to.Secret.Reveal())
	case alerting.NoAuth:
	}
}
