// Package demo fills a workspace with something real and keeps it alive: this
// machine's own metrics, measured every second, four years of weather as history,
// and the machine itself as a graph, its parts and what runs on it. It is a client
// like any other: all it does goes through the public HTTP interface, with a key of
// its own that expires.
//
// The flow of points: [machine.Sampler] measures, a bounded buffer holds what could not be
// sent yet, the publisher sends, and the watcher waits for what was sent to be
// visible, takes the newest values with it and hands them to the display, which
// is a view redrawn in place on a terminal and a line now and then elsewhere.
//
// Beside it the cartographer looks at the machine every few seconds and has a
// mirror (package mirror) make the graph as the machine is. Whatever becomes of it, the
// points go on.
package demo

import (
	"context"
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
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// startPatience is how long the demo waits for a server that does not
	// answer yet.
	startPatience = time.Minute
	// announceAfter is when the commands are printed though nothing was read
	// back yet.
	announceAfter = 15 * time.Second
	// sendFarewell is how long the last points may take to be sent at the end.
	sendFarewell = 3 * time.Second
	// watchTerminal and watchLines are the least times between two readings.
	watchTerminal = time.Second
	watchLines    = 5 * time.Second
)

// Options are a person's wishes.
type Options struct {
	Interval time.Duration // between two measurements; 0: one second
	Duration time.Duration // 0: until the context ends
	Backfill bool
	Plain    bool // lines, even on a terminal

	surveyEvery, settled time.Duration // of the graph; 0: as the constants say
}

// Deps are what the demo runs on.
type Deps struct {
	BaseURL   string
	HTTP      *http.Client // nil: the client's own
	CACert    string       // file that the printed curl commands believe; empty: none
	Workspace uuid.UUID
	// NewKey makes a key that may read and write live data, nodes and edges of the
	// workspace, and says until when it lives (zero: for ever).
	NewKey func(ctx context.Context) (key string, expires time.Time, err error)
	// KeyCommand is a shell command that prints a key of the workspace. The
	// printed curl commands use it where the demo's own key must not be shown:
	// in output that is no terminal and may be kept. May be empty.
	KeyCommand string
	Out        io.Writer
}

// session is one run of the demo.
type session struct {
	options Options
	deps    Deps
	display display
	client  *client.Client
	keys    *keyring
	stats   *stats
	buffer  *buffer
	sampler *machine.Sampler
	// stations are those of the back-fill, once it is there.
	stations []weather.Station

	announced sync.Once
	waitSaid  sync.Once
	found     findings
}

// findings are what one part of the demo found out and others need.
type findings struct {
	mu      sync.Mutex
	visible bool              // points were read back
	host    uuid.UUID         // the machine's node; zero: it is not drawn yet
	nodes   map[string]string // by the source's name: the node that it belongs to
}

// Run runs the demo until ctx or the duration ends; both are a good end. It fails
// when it cannot begin (no key, no server) or is not allowed to write.
func Run(ctx context.Context, o Options, d Deps) error {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	s := &session{
		options: o, deps: d, display: newDisplay(d.Out, o.Plain),
		stats: &stats{began: time.Now()}, buffer: newBuffer(mostBuffered),
	}
	defer s.display.close()
	c, err := client.New(client.Options{
		BaseURL: d.BaseURL, Workspace: d.Workspace.String(), UserAgent: "livegraph-demo", HTTP: d.HTTP,
		Retry: client.Retry{Waiting: s.waiting},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	s.client = c
	s.keys = &keyring{mint: d.NewKey, use: c.SetKey}
	if err := s.keys.renew(ctx, ""); err != nil {
		return orNil(ctx, err)
	}
	if o.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	if err := s.begin(ctx); err != nil {
		return orNil(ctx, err)
	}
	return s.live(ctx)
}

// waiting is told each time that a call has to be made again. The first time is
// said, for nothing else may be on the screen yet; the view shows the others.
func (s *session) waiting(err error, wait time.Duration) {
	s.stats.wait(time.Now(), err, wait)
	s.waitSaid.Do(func() { s.say("the server makes us wait: " + publicText(err)) })
}

// orNil is nil when the demo was ended on purpose, whatever error that caused.
func orNil(ctx context.Context, err error) error {
	if ended(ctx) {
		return nil
	}
	return err
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// begin waits for the server and makes the history.
func (s *session) begin(ctx context.Context) error {
	s.say("Livegraph demo on " + s.deps.BaseURL + ", workspace " + s.deps.Workspace.String())
	patient := s.client.RetryUntil(startPatience)
	if _, err := patient.Query(ctx, client.Query{Latest: true, Limit: 1}); err != nil {
		return fmt.Errorf("the server at %s does not serve the demo: %w", s.deps.BaseURL, err)
	}
	if !s.options.Backfill {
		return nil
	}
	stations, err := s.backfill(ctx, patient)
	if err != nil {
		s.say(explainBackfill(err)) // the live part goes on without
	}
	s.stations = stations
	return nil
}

// live measures, sends, reads back and shows until ctx ends, then sends what is
// left and sums up.
func (s *session) live(ctx context.Context) error {
	host := machine.HostName()
	s.sampler = machine.New(host, s.say)
	defer s.sampler.Close()
	s.sampler.Sample(time.Now()) // rates need something to compare with

	group, running := errgroup.WithContext(ctx)
	answered := make(chan acknowledged, 1)
	publisher, watcher := s.publisher(answered), s.watcher(host, answered)
	cartographer := newCartographer(s, host, s.sampler.Sources())
	// The publisher may go on after ctx for the farewell: it ends by itself when
	// the buffer is closed and all is sent.
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	sent := make(chan struct{})

	group.Go(func() error { s.measure(running); return nil })
	group.Go(func() error { defer close(sent); return publisher.run(sending) })
	group.Go(func() error { watcher.run(running); return nil })
	group.Go(func() error { cartographer.run(running); return nil })
	group.Go(func() error { s.show(running); return nil })
	group.Go(func() error {
		<-running.Done()
		select {
		case <-sent:
		case <-time.After(sendFarewell):
			stopSending()
		}
		return nil
	})
	err := group.Wait()
	s.end()
	return err
}

// measure takes a sample at every multiple of the interval, on the wall clock,
// so that the series of all sources share their timestamps.
func (s *session) measure(ctx context.Context) {
	defer s.buffer.close()
	for {
		next := time.Now().Truncate(s.options.Interval).Add(s.options.Interval)
		if !sleep.For(ctx, time.Until(next)) {
			return
		}
		s.buffer.push(s.sampler.Sample(next))
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
	waiting, dropped := s.buffer.counts()
	return s.stats.snapshot(time.Now(), s.deps.BaseURL, waiting, dropped)
}

func (s *session) publisher(answered chan acknowledged) *publisher {
	described := map[string]machine.Source{}
	for _, source := range s.sampler.Sources() {
		described[source.Name] = source
	}
	return &publisher{
		client: s.client, keys: s.keys, buffer: s.buffer, stats: s.stats, note: s.say, interval: s.options.Interval,
		described: described, nodeOf: s.nodeOf, ids: map[string]string{}, answered: answered,
	}
}

func (s *session) watcher(host string, answered <-chan acknowledged) *watcher {
	w := &watcher{
		client: s.client.RetryUntil(readPatience), stats: s.stats, interval: s.options.Interval, host: host,
		every: watchLines, answered: answered, visible: s.visible,
		kinds: map[string]string{}, units: map[string]string{},
	}
	if _, inPlace := s.display.(*screen); inPlace {
		w.every = watchTerminal
	}
	for _, source := range s.sampler.Sources() {
		w.kinds[source.Name] = source.Kind
		for _, m := range source.Metrics {
			w.units[unitKey(source.Kind, m.Name)] = m.Unit
		}
	}
	return w
}

// visible is told that points were read back.
func (s *session) visible() { s.find(func(f *findings) { f.visible = true }) }

// drawn is told that the machine is in the graph, and as which node.
func (s *session) drawn(host uuid.UUID) { s.find(func(f *findings) { f.host = host }) }

// belongs is told which node a source belongs to, and nodeOf says it again, "" if
// it is not known.
func (s *session) belongs(source string, node uuid.UUID) {
	s.find(func(f *findings) {
		if f.nodes == nil {
			f.nodes = map[string]string{}
		}
		f.nodes[source] = node.String()
	})
}

func (s *session) nodeOf(source string) string {
	s.found.mu.Lock()
	defer s.found.mu.Unlock()
	return s.found.nodes[source]
}

func (s *session) find(what func(*findings)) {
	s.found.mu.Lock()
	what(&s.found)
	all := s.found.visible && s.found.host != uuid.Nil
	s.found.mu.Unlock()
	if all {
		s.announce()
	}
}

// announce reports where to look, once: when the first points and the graph were
// found there, so that the commands show something, or after a while all the same.
func (s *session) announce() {
	s.announced.Do(func() {
		l := lookAt{
			address: strings.TrimRight(s.deps.BaseURL, "/"), workspace: s.deps.Workspace,
			cpu: machine.HostName() + "/cpu", history: s.stations != nil, caCert: s.deps.CACert,
		}
		s.found.mu.Lock()
		l.host = s.found.host
		s.found.mu.Unlock()
		_, terminal := terminalOf(s.deps.Out)
		switch key, expires, _ := s.keys.current(time.Now()); {
		case terminal:
			l.key, l.expires = key, expires
		case s.deps.KeyCommand != "":
			l.key = "$(" + s.deps.KeyCommand + ")"
		default:
			l.key = "$" + keyVariable
			l.hint = "First set " + keyVariable + " to a key of the workspace; `livegraph keys create` makes one."
		}
		s.say(l.text())
	})
}

// end leaves the last view standing and sums up.
func (s *session) end() {
	s.announce()
	last := s.snapshot()
	if _, inPlace := s.display.(*screen); inPlace {
		s.display.refresh(last)
	}
	s.display.close()
	s.say(last.summary())
}

// say writes a text that stays, line by line fit for a terminal.
func (s *session) say(text string) {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		rows[i] = printable(row)
	}
	s.display.note(strings.Join(rows, "\n"))
}
