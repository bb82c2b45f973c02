// Package demo fills a workspace with this machine's metrics, measured every second, four years of weather as
// history, and the machine itself as a graph. It is a client of the public HTTP API like any other and creates its own
// key, which expires.
//
// [machine.Sampler] measures, a bounded buffer holds the points that are not sent yet, the publisher sends them, the
// reader waits until they are visible and passes the newest values to the display. In parallel the graphUpdater keeps
// the graph equal to the machine; its errors do not stop the points.
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
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	startTimeout = time.Minute // for a server that does not answer yet
	// announceAfter is the time after which the commands are printed even if nothing was read back yet.
	announceAfter    = 15 * time.Second
	finalSendTimeout = 3 * time.Second // how long the last points may take to be sent
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
	HTTP      *http.Client // nil: the client's own
	CACert    string       // file of the certificate that the printed commands trust; empty: none
	Workspace uuid.UUID
	// NewKey creates a key that may read and write live data, nodes and edges, and returns its expiry (zero: none).
	NewKey func(ctx context.Context) (key string, expires time.Time, err error)
	// KeyCommand is a shell command that prints a key of the workspace, for printed commands where the demo's own key
	// must not be shown. May be empty.
	KeyCommand string
	Out        io.Writer
}

// session is one run of the demo.
type session struct {
	options  Options
	deps     Deps
	display  display
	client   *client.Client
	keys     *keyring
	stats    *stats
	buffer   *buffer
	sampler  *machine.Sampler
	stations []weather.Station // of the history, once it is stored

	announced, waitNoted sync.Once
	mu                   sync.Mutex
	visible              bool              // points were read back
	host                 uuid.UUID         // the machine's node; zero: not drawn yet
	nodes                map[string]string // node by the source's name
}

// Run runs the demo until ctx or the duration ends. It returns an error if it cannot start or may not write.
func Run(ctx context.Context, o Options, d Deps) error {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	s := &session{
		options: o, deps: d, display: newDisplay(d.Out, o.Plain), stats: &stats{began: time.Now()},
		buffer: newBuffer(maxBuffered), nodes: map[string]string{},
	}
	defer s.display.close()
	c, err := client.New(client.Options{
		BaseURL: d.BaseURL, Workspace: d.Workspace.String(), UserAgent: "livegraph-demo", HTTP: d.HTTP,
		Retry: client.Retry{OnWait: s.waiting},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	s.client, s.keys = c, &keyring{create: d.NewKey, use: c.SetKey}
	if o.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	err = s.begin(ctx)
	if err == nil {
		err = s.live(ctx)
	}
	if ctx.Err() != nil {
		return nil // it was stopped on purpose, which may have caused the error
	}
	return err
}

// waiting records that a call is retried. It prints the first retry, because the screen may still be empty.
func (s *session) waiting(err error, wait time.Duration) {
	s.stats.update(func(st *stats) {
		st.retries++
		st.waiting, st.waitUntil = publicText(err), time.Now().Add(wait)
	})
	s.waitNoted.Do(func() { s.note("the server makes us wait: " + publicText(err)) })
}

// begin waits for the server and writes the history.
func (s *session) begin(ctx context.Context) error {
	if err := s.keys.renew(ctx, ""); err != nil {
		return err
	}
	s.note("Livegraph demo on " + s.deps.BaseURL + ", workspace " + s.deps.Workspace.String())
	c := s.client.RetryUntil(startTimeout)
	if _, err := c.Query(ctx, client.Query{Latest: true, Limit: 1}); err != nil {
		return fmt.Errorf("the server at %s does not serve the demo: %w", s.deps.BaseURL, err)
	}
	if !s.options.Backfill {
		return nil
	}
	stations, err := s.backfill(ctx, c)
	if err != nil {
		s.note("no back-fill: " + err.Error()) // the live part runs without it; the next demo continues it
		return nil
	}
	s.stations = stations
	return nil
}

// live measures, sends, reads back and shows until ctx ends, and then sends the remaining points.
func (s *session) live(ctx context.Context) error {
	s.sampler = machine.NewSampler(machine.HostName(), s.note)
	s.sampler.Sample(ctx, time.Now()) // the base of rates
	acknowledged := make(chan acknowledgement, 1)
	publisher, reader, graph := newPublisher(s, acknowledged), newReader(s, acknowledged), newGraphUpdater(s)
	group, running := errgroup.WithContext(ctx)
	// The publisher may continue after ctx: it ends when the buffer is closed and empty.
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	context.AfterFunc(running, func() { time.AfterFunc(finalSendTimeout, stopSending) })

	group.Go(func() error { return publisher.run(sending) })
	for _, part := range []func(context.Context){s.measure, reader.run, graph.run, s.show} {
		group.Go(func() error { part(running); return nil })
	}
	err := group.Wait()
	s.announce()
	last := s.snapshot()
	if _, inPlace := s.display.(*screen); inPlace {
		s.display.refresh(last)
	}
	s.display.close()
	s.note(last.summary())
	return err
}

// measure takes a sample at every multiple of the interval, so that all series share their timestamps.
func (s *session) measure(ctx context.Context) {
	defer s.buffer.close()
	for {
		next := time.Now().Truncate(s.options.Interval).Add(s.options.Interval)
		if !sleep.For(ctx, time.Until(next)) {
			return
		}
		s.buffer.push(s.sampler.Sample(ctx, next))
	}
}

// show refreshes the display.
func (s *session) show(ctx context.Context) {
	refresh := time.NewTicker(s.display.every())
	defer refresh.Stop()
	late := time.NewTimer(announceAfter)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			s.announce()
		case <-refresh.C:
			s.display.refresh(s.snapshot())
		}
	}
}

func (s *session) snapshot() view {
	pending, dropped := s.buffer.counts()
	return s.stats.snapshot(time.Now(), s.deps.BaseURL, pending, dropped)
}

// nodeOf returns the node that a source belongs to, "" if it is unknown.
func (s *session) nodeOf(source string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[source]
}

// record applies a change to the session under its lock. It announces the commands once they show results.
func (s *session) record(change func()) {
	s.mu.Lock()
	change()
	all := s.visible && s.host != uuid.Nil
	s.mu.Unlock()
	if all {
		s.announce()
	}
}

// announce prints commands to try, once.
func (s *session) announce() {
	s.announced.Do(func() {
		h := hints{
			address: strings.TrimRight(s.deps.BaseURL, "/"), workspace: s.deps.Workspace,
			cpu: machine.HostName() + "/cpu", history: s.stations != nil, caCert: s.deps.CACert,
		}
		s.mu.Lock()
		h.host = s.host
		s.mu.Unlock()
		_, terminal := terminalOf(s.deps.Out)
		switch key, expires, _ := s.keys.current(time.Now()); {
		case terminal:
			h.key, h.expires = key, expires
		case s.deps.KeyCommand != "":
			h.key = "$(" + s.deps.KeyCommand + ")"
		default:
			h.key = "$" + keyVariable
			h.before = "First set " + keyVariable + " to a key of the workspace; `livegraph keys create` makes one."
		}
		s.note(h.text())
	})
}

// note prints a text that stays, without control characters.
func (s *session) note(text string) {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		rows[i] = printable(row)
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

// keyring holds the demo's key and replaces it before it expires, or when it was revoked.
type keyring struct {
	create func(ctx context.Context) (key string, expires time.Time, err error)
	use    func(key string) // receives each new key

	mu      sync.Mutex
	key     string
	created time.Time
	expires time.Time // zero: never
}

// renew replaces the key by a new one if it is still stale. Otherwise another goroutine has replaced it.
func (k *keyring) renew(ctx context.Context, stale string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != stale {
		return nil
	}
	key, expires, err := k.create(ctx)
	if err != nil {
		return fmt.Errorf("making a key for the demo: %w", err)
	}
	k.key, k.created, k.expires = key, time.Now(), expires
	k.use(key)
	return nil
}

// current returns the key, its expiry, and whether nine tenths of its lifetime are over.
func (k *keyring) current(now time.Time) (key string, expires time.Time, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lifetime := k.expires.Sub(k.created)
	return k.key, k.expires, !k.expires.IsZero() && now.After(k.created.Add(lifetime/10*9))
}
