// Package demo fills a workspace with this machine's metrics, measured every second, four years of weather as
// history, and the machine itself as a graph. It is a client of the public HTTP API like any other and creates its own
// key, which expires.
//
// [machine.Sampler] measures, a bounded queue holds the rounds that are not sent yet, and the publisher sends them. In
// parallel the graphUpdater keeps the graph equal to the machine; its errors do not stop the points.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	startTimeout = time.Minute // for a server that does not answer yet
	// announceAfter is the time after which the commands are printed even if nothing is visible yet.
	announceAfter   = 15 * time.Second
	refreshInterval = time.Second // of the display
	maxQueued       = 1800        // rounds: half an hour
)

// Options are the user's choices.
type Options struct {
	Interval time.Duration // between two measurements; 0: one second
	Duration time.Duration // 0: until the context ends
	Backfill bool
	Plain    bool // lines, even on a terminal

	surveyInterval, minProcessAge time.Duration // of the graph; 0: the defaults
}

// Deps are the demo's dependencies.
type Deps struct {
	BaseURL   string
	Transport http.RoundTripper // nil: the default
	DataDir   string            // of the server, for printed commands
	Workspace uuid.UUID
	// NewKey creates a key that may read and write live data, nodes and edges.
	NewKey func(ctx context.Context) (string, error)
	Out    io.Writer
}

// session is one run of the demo.
type session struct {
	options  Options
	deps     Deps
	display  *display
	client   *client.Client
	sampler  *machine.Sampler
	queue    chan []client.Point // rounds that were measured and not sent yet
	stations []weather.Station   // of the history, once it is stored
	began    time.Time

	announced, waitNoted sync.Once
	mu                   sync.Mutex
	status               status
}

// Run runs the demo until ctx or the duration ends. It returns an error if it cannot start or may not write.
func Run(ctx context.Context, o Options, d Deps) error {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	s := &session{
		options: o, deps: d, display: newDisplay(d.Out, o.Plain), queue: make(chan []client.Point, maxQueued),
		status: status{address: d.BaseURL}, began: time.Now(),
	}
	defer s.display.close()
	s.sampler = machine.NewSampler(machine.HostName(), s.note)
	keys := &keyring{create: d.NewKey, next: d.Transport}
	c, err := client.New(client.Options{
		BaseURL: d.BaseURL, Workspace: d.Workspace.String(), UserAgent: "livegraph-demo",
		HTTP: &http.Client{Transport: keys}, Retry: client.Retry{OnWait: s.waiting},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	s.client = c
	if o.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	if _, err = keys.renew(ctx, ""); err == nil {
		err = s.begin(ctx)
	}
	if err == nil {
		err = s.live(ctx)
	}
	if ctx.Err() != nil {
		return nil // it was stopped on purpose, which may have caused the error
	}
	return err
}

// waiting records that a call is retried. It prints the first retry, because the screen may still be empty.
func (s *session) waiting(err error, _ time.Duration) {
	s.update(func(st *status) { st.trouble = err.Error() })
	s.waitNoted.Do(func() { s.note("the server makes us wait: " + err.Error()) })
}

// begin waits for the server and writes the history.
func (s *session) begin(ctx context.Context) error {
	s.note("Livegraph demo on " + s.deps.BaseURL + ", workspace " + s.deps.Workspace.String())
	c := s.client.RetryUntil(startTimeout)
	if _, err := c.Query(ctx, client.Query{Latest: true, Limit: 1}); err != nil {
		return fmt.Errorf("the server at %s does not serve the demo: %w", s.deps.BaseURL, err)
	}
	if !s.options.Backfill {
		return nil
	}
	stations, err := weather.Stations()
	for i := range stations {
		if err == nil {
			err = s.backfill(ctx, c, &stations[i])
		}
	}
	if err != nil {
		s.note("no back-fill: " + err.Error()) // the live part runs without it; the next demo continues it
		return nil
	}
	s.stations = stations
	return nil
}

// backfill writes the measurements of a station, unless they are stored already.
func (s *session) backfill(ctx context.Context, c *client.Client, station *weather.Station) error {
	source, _, err := c.EnsureSource(ctx, station.Source)
	if err != nil {
		return err
	}
	first, last := station.Days[0], station.Days[len(station.Days)-1]
	stored, err := c.Query(ctx, client.Query{SourceIDs: []string{source.ID}, Latest: true, Limit: 100})
	if err != nil {
		return err
	}
	result := "there already"
	if len(stored) < len(station.Series) { // all are sent at once
		result = "back-filled"
		for i := range station.Series {
			station.Series[i].SourceID = source.ID
		}
		receipt, err := c.IngestSeries(ctx, station.Series)
		if err != nil {
			return err
		}
		if receipt.Rejected > 0 {
			return fmt.Errorf("%s: %d measurements were rejected: %s", source.Name, receipt.Rejected, receipt.Errors[0].Reason)
		}
	}
	s.note(fmt.Sprintf("%s: %s: %s daily measurements from %s to %s (npm package %s, NOAA, public domain)",
		source.Name, result, thousands(len(station.Series)*len(station.Days)), first.Format(time.DateOnly),
		last.Format(time.DateOnly), weather.Package))
	return nil
}

// live measures, sends and shows until ctx ends.
func (s *session) live(ctx context.Context) error {
	s.sampler.Sample(ctx, time.Now()) // the base of rates
	publisher, graph := &publisher{session: s}, newGraphUpdater(s)
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return publisher.run(running) })
	for _, part := range []func(context.Context){s.measure, graph.run, s.show} {
		group.Go(func() error { part(running); return nil })
	}
	err := group.Wait()
	s.display.close()
	last := s.current()
	s.announced.Do(func() { s.note(s.hints(last.graph.host)) })
	s.note(last.summary() + " What it sent stays.")
	return err
}

// measure takes a sample at every multiple of the interval, so that all series share their timestamps.
func (s *session) measure(ctx context.Context) {
	for {
		next := time.Now().Truncate(s.options.Interval).Add(s.options.Interval)
		if !sleep.For(ctx, time.Until(next)) {
			return
		}
		if round := s.sampler.Sample(ctx, next); len(round) > 0 { // all collectors may be late
			s.push(round)
		}
	}
}

// push adds a round to the queue, or drops it if the queue is full.
func (s *session) push(round []client.Point) {
	s.update(func(st *status) {
		st.setLatest(round)
		select {
		case s.queue <- round:
			st.waiting += int64(len(round))
		default:
			st.dropped += int64(len(round))
		}
	})
}

// show refreshes the display. It prints the commands once they show results.
func (s *session) show(ctx context.Context) {
	for sleep.For(ctx, refreshInterval) {
		st := s.current()
		if len(st.visible) > 0 && st.graph.host != "" || st.up > announceAfter {
			s.announced.Do(func() { s.note(s.hints(st.graph.host)) })
		}
		s.display.refresh(&st)
	}
}

func (s *session) update(change func(*status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

// current returns a copy of the status. Its lists share memory with the status, whose later changes only append.
func (s *session) current() status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.up = time.Since(s.began)
	return st
}

// note prints a text that stays, without control characters.
func (s *session) note(text string) {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		rows[i] = output.Printable(row)
	}
	s.display.note(strings.Join(rows, "\n"))
}

// publicText returns the message of an error, or only the server's message if the server answered.
func publicText(err error) string {
	var fe *fault.Error
	if errors.As(err, &fe) {
		return fe.Message
	}
	return err.Error()
}
