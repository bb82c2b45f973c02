package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// setUpAtOnce is how many sources are made at a time.
	setUpAtOnce = 8
	// registerBatch is how many series one request of the set-up makes known.
	registerBatch = 10_000
)

// Target is the server, and where on it the load may write.
type Target struct {
	BaseURL   string          // https://host:port, without /api
	Workspace string          // UUID
	Key       string          // may read and write live data; to remove the sources again it needs the scope admin
	Transport *http.Transport // how the server is reached; nil: as any
}

// Size is how large a fleet is.
type Size struct {
	Sources int
	Series  int // of all sources together
	// Sensors is how many sensors each source has, told apart by a tag: 0 for none.
	// Series of one sensor differ by their metric.
	Sensors int
}

// Check refuses a size that is out of bounds, as Plan.Check does.
func (s Size) Check() error {
	return errors.Join(
		between("series", s.Series, 1, mostSeries),
		between("sources", s.Sources, 1, max(min(mostSources, s.Series), 1)),
		between("sensors", s.Sensors, 0, max(s.Series/max(s.Sources, 1), 1)),
	)
}

// Fleet is sources and series that exist on a server for a load to write to. Its
// methods are called one after the other.
type Fleet struct {
	client  *client.Client
	series  int
	sensors int // of each source
	name    string
	sources []string // ids
	names   []string // of the sources

	mu       sync.Mutex
	refusals map[string]int64 // of the run under way
}

// NewFleet creates the sources, named after name, and makes their series known to
// the server by one point each, so that a run measures points alone. When it
// fails it removes what it made.
func NewFleet(ctx context.Context, to Target, name string, size Size) (_ *Fleet, err error) {
	if err := size.Check(); err != nil {
		return nil, err
	}
	f := &Fleet{
		series: size.Series, sensors: size.Sensors, name: name,
		sources: make([]string, size.Sources), names: make([]string, size.Sources), refusals: map[string]int64{},
	}
	for i := range f.names {
		f.names[i] = fmt.Sprintf("%s-%05d", name, i)
	}
	transport := cmp.Or(to.Transport, http.DefaultTransport.(*http.Transport)).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = mostCallers+watchers, mostCallers+watchers
	f.client, err = client.New(client.Options{
		BaseURL: to.BaseURL, Workspace: to.Workspace, UserAgent: "livegraph-bench",
		HTTP:  &http.Client{Transport: transport},
		Retry: client.Retry{First: 100 * time.Millisecond, Total: requestPatience, Waiting: f.refused},
	})
	if err != nil {
		return nil, err
	}
	f.client.SetKey(to.Key)
	if err = f.makeSources(ctx); err == nil {
		err = f.register(ctx)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestPatience)
		defer cancel()
		_ = f.Remove(undo) // what went wrong first is what counts
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Fleet) makeSources(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(setUpAtOnce)
	for i := range f.sources {
		group.Go(func() error {
			source, err := f.client.CreateSource(ctx, client.Source{
				Name: f.names[i], Description: "made by a load test; may be deleted",
			})
			if err != nil {
				return fmt.Errorf("making the sources: %w", err)
			}
			f.sources[i] = source.ID
			return nil
		})
	}
	return group.Wait()
}

// register sends a point of each series and waits until they are visible.
func (f *Fleet) register(ctx context.Context) error {
	w := f.writing(&Plan{Values: ValuesGauge, Start: time.Now(), Interval: time.Millisecond})
	for first := 0; first < f.series; first += registerBatch {
		body := appendSeries(nil, w, slice{first: first, end: min(first+registerBatch, f.series), points: 1})
		receipt, err := f.client.IngestBody(ctx, encodings[FormatSeries].media, body)
		if err == nil && receipt.Rejected > 0 {
			err = rejection(receipt)
		}
		if err == nil {
			err = f.client.WaitVisible(ctx, receipt.Checkpoint)
		}
		if err != nil {
			return fmt.Errorf("making the series known: %w", err)
		}
	}
	return nil
}

// rejection makes an error of points that were not taken.
func rejection(r client.Receipt) error {
	err := fault.Newf(fault.Invalid, "%d of %d points were rejected", r.Rejected, r.Accepted+r.Rejected)
	if len(r.Errors) > 0 {
		err.Message += ": " + r.Errors[0].Field + ": " + r.Errors[0].Reason
	}
	return err
}

// refused counts answers that ask for another try.
func (f *Fleet) refused(err error, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals[reasonOf(err)]++
}

// Name returns what the names of the sources begin with.
func (f *Fleet) Name() string { return f.name }

// Sources returns the ids of the sources. Series i is of source i modulo their
// number, and its metric is named m and i divided by it, unless there are sensors.
func (f *Fleet) Sources() []string { return f.sources }

// Measurements returns the names of the sources, which lines have as their measurements.
func (f *Fleet) Measurements() []string { return slices.Clone(f.names) }

// Bodies returns the bodies that a run of the plan sends, for another server to be
// sent the same.
func (f *Fleet) Bodies(p Plan) ([][]byte, error) {
	p, err := p.complete(f.series)
	if err != nil {
		return nil, err
	}
	return f.bodies(&p), nil
}

func (f *Fleet) bodies(p *Plan) [][]byte {
	l, w := newLayout(f.series, p.Batch), f.writing(p)
	bodies := make([][]byte, l.requests(p.Points))
	for n := range bodies {
		_, s := l.request(int64(n))
		bodies[n] = encodings[p.Format].append(nil, w, s)
	}
	return bodies
}

// removedAtOnce is how many sources are deleted at once: each takes a second, until all
// processes know.
const removedAtOnce = 64

// Remove deletes the sources, and with them their points.
func (f *Fleet) Remove(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(removedAtOnce)
	for _, id := range f.sources {
		if id == "" {
			continue
		}
		group.Go(func() error {
			if err := f.client.DeleteSource(ctx, id); err != nil && !fault.Is(err, fault.NotFound) {
				return fmt.Errorf("removing the sources: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Close closes the connections. The sources stay unless they are removed.
func (f *Fleet) Close() { f.client.Close() }
