// Package demo fills a workspace with this machine's metrics, measured every second, four years of weather as
// history, and the machine itself as a graph. It uses the public HTTP API with its own key, which expires.
//
// [machine.Sampler] measures, a bounded queue holds the rounds that are not sent yet, and another goroutine sends them.
// Errors of the graph, which is updated in parallel, do not stop the points.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/hostgraph"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	startTimeout    = time.Minute // for a server that does not answer yet
	refreshInterval = time.Second // of the display
	maxQueued       = 1800        // rounds: half an hour
)

// Options are the user's choices.
type Options struct {
	Interval   time.Duration `help:"Time between two measurements, 100ms to 1h." default:"1s"`
	Duration   time.Duration `help:"End after this time; 0: on Ctrl-C." default:"0s"`
	NoBackfill bool          `help:"Leave out the four years of weather."`
	Plain      bool          `help:"Print lines instead of a view that is redrawn in place."`

	surveyInterval, minProcessAge time.Duration // of the graph; 0: the defaults
}

// Deps are the demo's dependencies.
type Deps struct {
	BaseURL   string
	HTTP      *http.Client // nil: the default
	DataDir   string       // of the server, for printed commands
	Workspace uuid.UUID
	// NewKey creates a key that may read and write live data, nodes and edges.
	NewKey func(ctx context.Context) (string, error)
	Out    io.Writer
}

// OpenDeps returns the dependencies of the demo.
func OpenDeps(
	db *stores.DB, dataDir string, workspace uuid.UUID, server runfile.Server, out *output.Writer,
) (deps Deps, err error) {
	deps = Deps{BaseURL: server.URL, DataDir: dataDir, Workspace: workspace, Out: out.Writer}
	deps.NewKey = func(ctx context.Context) (string, error) {
		found, err := db.WorkspacesByID(ctx, []uuid.UUID{workspace})
		if err != nil || len(found) == 0 {
			return "", cmp.Or(err, fmt.Errorf("there is no workspace %s", workspace))
		}
		expires := time.Now().Add(24 * time.Hour) // then the client creates another one
		_, text, err := keyadmin.Create(ctx, db, access.NewKey{
			Name: "demo", Mode: found[0].Mode, Workspaces: []uuid.UUID{workspace}, CreatedBy: "demo", ExpiresAt: &expires,
			Scopes: []string{"read:livedata", "write:livedata", "read:nodes", "write:nodes", "read:edges", "write:edges"},
		})
		return text.Reveal(), err
	}
	deps.HTTP, err = client.Local(server)
	return deps, err
}

// session is one run of the demo.
type session struct {
	*display
	options  Options
	deps     Deps
	client   *client.Client
	sampler  *machine.Sampler
	queue    chan []client.Point // rounds that were measured and not sent yet
	stations []weather.Station   // of the history, once it is stored
	began    time.Time

	announced, waitNoted sync.Once
	mu                   sync.Mutex
	status               status

	// Only publish uses them.
	checkedAt time.Time         // when the sources were checked; zero: never
	linked    map[string]string // their nodes then
	refusal   string            // of the last round; "": none
}

// Run runs the demo until ctx or the duration ends. It returns an error if it cannot start or may not write.
func Run(ctx context.Context, o Options, d Deps) error {
	o.Interval = cmp.Or(max(o.Interval, 0), time.Second)
	s := &session{
		options: o, deps: d, display: newDisplay(d.Out, o.Plain), queue: make(chan []client.Point, maxQueued),
		status: status{Address: d.BaseURL}, began: time.Now(),
	}
	defer s.close()
	s.sampler = machine.NewSampler(machine.HostName(), s.note)
	c, err := client.New(client.Options{
		BaseURL: d.BaseURL, Workspace: d.Workspace.String(), UserAgent: "livegraph-demo",
		HTTP: d.HTTP, NewKey: d.NewKey, Retry: client.Retry{OnWait: func(err error, _ time.Duration) {
			s.update(func(st *status) { st.Trouble = err.Error() })
			s.waitNoted.Do(func() { s.note("the server makes us wait: " + err.Error()) }) // the view may still be empty
		}},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	s.client = c
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Duration, math.MaxInt64))
	defer cancel()
	if err = s.begin(ctx); err == nil {
		err = s.live(ctx)
	}
	if ctx.Err() != nil {
		return nil // it was stopped on purpose, which may have caused the error
	}
	return err
}

// begin waits for the server and writes the history.
func (s *session) begin(ctx context.Context) error {
	s.note("Livegraph demo on " + s.deps.BaseURL + ", workspace " + s.deps.Workspace.String())
	key, err := s.deps.NewKey(ctx) // without the client's retries, because it shows whether the database can be used
	if err != nil {
		return fmt.Errorf("making a key for the demo: %w", err)
	}
	if err := s.client.SetKey(key); err != nil {
		return fmt.Errorf("making a key for the demo: %w", err)
	}
	c := s.client.RetryUntil(startTimeout)
	if _, err := c.Query(ctx, client.Query{Latest: true, Limit: 1}); err != nil {
		return fmt.Errorf("the server at %s does not serve the demo: %w", s.deps.BaseURL, err)
	}
	if s.options.NoBackfill {
		return nil
	}
	stations, err := weather.Stations()
	for i := 0; err == nil && i < len(stations); i++ {
		err = s.backfill(ctx, c, &stations[i])
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
	described := station.Source
	described.NodeID = "" // the key is no id, and the node may not exist yet
	source, _, err := c.EnsureSource(ctx, described)
	if err != nil {
		return err
	}
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
		if receipt, err := c.IngestSeries(ctx, station.Series); err != nil {
			return err
		} else if receipt.Rejected > 0 {
			return fmt.Errorf("%s: %d measurements were rejected: %s", source.Name, receipt.Rejected, receipt.Errors[0].Reason)
		}
	}
	days := station.Days
	s.note(english.Sprintf("%s: %s: %d daily measurements from %s to %s (npm package %s, NOAA, public domain)",
		source.Name, result, len(station.Series)*len(days), days[0].Format(time.DateOnly),
		days[len(days)-1].Format(time.DateOnly), weather.Package))
	return nil
}

// live measures, sends and shows until ctx ends.
func (s *session) live(ctx context.Context) error {
	s.sampler.Sample(ctx, time.Now()) // the base of rates
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return s.publish(running) })
	for _, part := range []func(context.Context){s.measure, s.updateGraph, s.show} {
		group.Go(func() error { part(running); return nil })
	}
	err := group.Wait()
	s.close()
	last := s.current()
	s.announce(last.nodeOf[hostgraph.MachineKey])
	s.note(text("summary", &last) + " What it sent stays.")
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
			st.Waiting += len(round)
		default:
			st.Dropped += len(round)
		}
	})
}

// show refreshes the display.
func (s *session) show(ctx context.Context) {
	for sleep.For(ctx, refreshInterval) {
		st := s.current()
		s.refresh(&st)
	}
}

func (s *session) update(change func(*status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

// current returns a copy of the status. It shares memory with the status, whose lists only grow and whose maps are
// replaced.
func (s *session) current() status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Up = time.Since(s.began)
	return st
}

// publicText returns the message of an error, or only the server's message if the server answered.
func publicText(err error) string {
	if answer, ok := errors.AsType[*fault.Error](err); ok {
		return answer.Message
	}
	return err.Error()
}

// announce prints the commands once: when the machine is in the graph, or at the end.
func (s *session) announce(host string) { s.announced.Do(func() { s.note(s.hints(host)) }) }

// hints returns commands that show what the demo did. Each is one line that works when pasted alone. host is the
// machine's node, "" if it is not in the graph.
func (s *session) hints(host string) string {
	return text("hints.tmpl", map[string]any{
		"program": os.Args[0], "dataDir": s.deps.DataDir, "workspace": s.deps.Workspace, "cpu": machine.HostName() + "/cpu",
		"weather": len(s.stations) > 0, "host": host, "address": strings.TrimRight(s.deps.BaseURL, "/"),
	})
}
