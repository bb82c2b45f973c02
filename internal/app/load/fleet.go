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
	// createConcurrency is the number of sources that are created concurrently.
	createConcurrency = 8
	// registerBatch is the number of series that one request of the set-up registers.
	registerBatch = 10_000
)

// Target is the server and the workspace that a load writes to.
type Target struct {
	BaseURL   string          // https://host:port, without /api
	Workspace string          // UUID
	Key       string          // may read and write live data; removing the sources requires the scope admin
	Transport *http.Transport // nil: the default transport
}

// Size is the size of a fleet.
type Size struct {
	Sources int
	Series  int // of all sources together
	// Sensors is the number of sensors per source, which a tag identifies; 0 for none.
	// Series of one sensor differ by their metric.
	Sensors int
}

// Check returns an error if the size is out of bounds, like Plan.Check.
func (s Size) Check() error {
	return errors.Join(
		checkRange("series", s.Series, 1, maxSeries),
		checkRange("sources", s.Sources, 1, max(min(maxSources, s.Series), 1)),
		checkRange("sensors", s.Sensors, 0, max(s.Series/max(s.Sources, 1), 1)),
	)
}

// Fleet is a set of sources and series on a server that a load writes to. It is not safe
// for concurrent use.
type Fleet struct {
	client  *client.Client
	series  int
	sensors int // of each source
	name    string
	sources []string // ids
	names   []string // of the sources

	mu       sync.Mutex
	refusals map[string]int64 // of the current run
}

// NewFleet creates the sources, whose names begin with name, and registers their series by
// one point each, so that a run measures only points. If it fails, it removes what it
// created.
func NewFleet(ctx context.Context, target Target, name string, size Size) (_ *Fleet, err error) {
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
	transport := cmp.Or(target.Transport, http.DefaultTransport.(*http.Transport)).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = maxCallers+watchers, maxCallers+watchers
	f.client, err = client.New(client.Options{
		BaseURL: target.BaseURL, Workspace: target.Workspace, UserAgent: "livegraph-bench",
		HTTP:  &http.Client{Transport: transport},
		Retry: client.Retry{First: 100 * time.Millisecond, Total: requestRetryTimeout, OnWait: f.refused},
	})
	if err != nil {
		return nil, err
	}
	if err = f.client.SetKey(target.Key); err != nil {
		return nil, err
	}
	if err = f.createSources(ctx); err == nil {
		err = f.register(ctx)
	}
	if err != nil {
		cleanupCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestRetryTimeout)
		defer cancel()
		_ = f.Remove(cleanupCtx) // the first error is returned
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Fleet) createSources(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(createConcurrency)
	for i := range f.sources {
		group.Go(func() error {
			source, err := f.client.CreateSource(ctx, client.Source{
				Name: f.names[i], Description: "made by a load test; may be deleted",
			})
			if err != nil {
				return fmt.Errorf("creating the sources: %w", err)
			}
			f.sources[i] = source.ID
			return nil
		})
	}
	return group.Wait()
}

// register sends a point of each series and waits until they are visible.
func (f *Fleet) register(ctx context.Context) error {
	w := f.bodySpec(&Plan{Values: ValuesGauge, Start: time.Now(), Interval: time.Millisecond})
	for first := 0; first < f.series; first += registerBatch {
		body := appendSeries(nil, w, requestSpec{first: first, end: min(first+registerBatch, f.series), points: 1})
		receipt, err := f.client.IngestBody(ctx, encodings[FormatSeries].media, body)
		if err == nil && receipt.Rejected > 0 {
			err = rejectionError(receipt)
		}
		if err == nil {
			err = f.client.WaitVisible(ctx, receipt.Checkpoint)
		}
		if err != nil {
			return fmt.Errorf("registering the series: %w", err)
		}
	}
	return nil
}

// rejectionError returns an error for rejected points.
func rejectionError(r client.Receipt) error {
	err := fault.Newf(fault.Invalid, "%d of %d points were rejected", r.Rejected, r.Accepted+r.Rejected)
	if len(r.Errors) > 0 {
		err.Message += ": " + r.Errors[0].Field + ": " + r.Errors[0].Reason
	}
	return err
}

// refused counts answers that lead to a retry.
func (f *Fleet) refused(err error, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals[reasonOf(err)]++
}

// Name returns the prefix of the names of the sources.
func (f *Fleet) Name() string { return f.name }

// Sources returns the ids of the sources. Series i belongs to source i modulo the number of
// sources. Without sensors, its metric is named m followed by i divided by that number.
func (f *Fleet) Sources() []string { return f.sources }

// Measurements returns the names of the sources, which are the measurements of lines.
func (f *Fleet) Measurements() []string { return slices.Clone(f.names) }

// Bodies returns the bodies that a run of the plan sends, for sending the same to another
// server.
func (f *Fleet) Bodies(p Plan) ([][]byte, error) {
	p, err := p.complete(f.series)
	if err != nil {
		return nil, err
	}
	return f.bodies(&p), nil
}

func (f *Fleet) bodies(p *Plan) [][]byte {
	l, w := newLayout(f.series, p.Batch), f.bodySpec(p)
	bodies := make([][]byte, l.requests(p.Points))
	for n := range bodies {
		_, s := l.request(int64(n))
		bodies[n] = encodings[p.Format].append(nil, w, s)
	}
	return bodies
}

// removeConcurrency is the number of sources that are deleted concurrently. A deletion
// takes a second, until all processes know of it.
const removeConcurrency = 64

// Remove deletes the sources, and with them their points.
func (f *Fleet) Remove(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(removeConcurrency)
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
