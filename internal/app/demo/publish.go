package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// mostBuffered is how many points wait for a server that is away: about
	// half an hour of a machine like ours.
	mostBuffered = 200_000
	// mostSent is how many points are sent at once when catching up.
	mostSent = 10_000
	// remakeEvery is how often sources are looked for again after points of
	// them were refused.
	remakeEvery = 10 * time.Second
	// mintAgain is the wait before a key is asked for again.
	mintAgain = 5 * time.Second
)

// publisher sends what the buffer holds: each second's points as one request,
// more when it has to catch up.
type publisher struct {
	client    *client.Client
	keys      *keyring
	buffer    *buffer
	stats     *stats
	note      func(string)
	interval  time.Duration
	described map[string]machine.Source // by name
	nodeOf    func(source string) string
	ids       map[string]string // id by name, of the sources known to exist
	remade    time.Time
	// answered is given each acknowledged ingest, if somebody waits for it.
	answered chan acknowledged
}

// acknowledged is an ingest that was answered.
type acknowledged struct {
	checkpoint string
	at         time.Time
	ids        map[string]string // the sources' ids by name
}

// run sends until the buffer is closed and empty or ctx ends. What it cannot
// get rid of then is counted. It fails only when going on makes no sense.
func (p *publisher) run(ctx context.Context) error {
	for {
		batch, ok := p.buffer.take(ctx, mostSent)
		if !ok {
			return nil
		}
		if err := p.send(ctx, batch); err != nil {
			return err
		}
	}
}

// send sends one batch and decides what an error means: a key to renew, sources
// to make again, points to give up, or the end.
func (p *publisher) send(ctx context.Context, batch []machine.Sample) error {
	for refusedKeys := 0; ; {
		key, _, due := p.keys.current(time.Now())
		if due {
			p.renew(ctx, key)
		}
		err := p.try(ctx, batch)
		switch {
		case err == nil:
			return nil
		case ended(ctx):
			p.stats.refused(0, len(batch), "")
			return nil
		case fault.Is(err, fault.Unauthenticated):
			refusedKeys++
			if renewed := p.renew(ctx, key); (!renewed || refusedKeys > 1) && !sleep.For(ctx, mintAgain) {
				p.stats.refused(0, len(batch), "")
				return nil
			}
		case fault.Is(err, fault.Forbidden):
			return fmt.Errorf("the demo's key may not write to the workspace: %w", err)
		case fault.Is(err, fault.Invalid), fault.Is(err, fault.NotFound):
			if p.forgetSources() {
				continue
			}
			p.stats.refused(len(batch), 0, refusalOf(err))
			return nil
		default:
			p.stats.refused(0, len(batch), publicText(err))
			p.note("a batch was given up: " + err.Error())
			return nil
		}
	}
}

// renew makes a key in place of stale and says what went wrong if it cannot.
func (p *publisher) renew(ctx context.Context, stale string) bool {
	if err := p.keys.renew(ctx, stale); err != nil {
		if ctx.Err() == nil {
			p.note(err.Error())
		}
		return false
	}
	return true
}

// try makes the sources that are missing and sends the batch.
func (p *publisher) try(ctx context.Context, batch []machine.Sample) error {
	points := make([]client.Point, len(batch))
	for i, sample := range batch {
		id, err := p.sourceID(ctx, sample.Source)
		if err != nil {
			return err
		}
		points[i] = client.Point{
			SourceID: id, Metric: sample.Metric, Timestamp: sample.At.UnixMilli(), Value: sample.Value, Tags: sample.Tags,
		}
	}
	receipt, err := p.client.IngestPoints(ctx, points)
	if err != nil {
		return err
	}
	now := time.Now()
	p.stats.delivered(now, receipt.Accepted, receipt.Rejected, receipt.Took)
	if receipt.Rejected > 0 && len(receipt.Errors) > 0 {
		first := receipt.Errors[0]
		p.stats.refused(0, 0, first.Field+": "+first.Reason)
		p.forgetSources()
	}
	p.acknowledge(receipt.Checkpoint, now)
	return nil
}

// acknowledge hands the newest checkpoint to whoever measures freshness,
// replacing one that nobody took.
func (p *publisher) acknowledge(checkpoint string, at time.Time) {
	select {
	case <-p.answered:
	default:
	}
	select {
	case p.answered <- acknowledged{checkpoint: checkpoint, at: at, ids: maps.Clone(p.ids)}:
	default:
	}
}

// sourceID returns the id of a source, making it when it is not there.
func (p *publisher) sourceID(ctx context.Context, name string) (string, error) {
	if id, ok := p.ids[name]; ok {
		return id, nil
	}
	d := p.described[name]
	wanted := client.Source{
		Name: name, Description: d.Description, Tags: d.Tags, NodeID: p.nodeOf(name),
		IntervalSeconds: p.interval.Seconds(),
	}
	for _, m := range d.Metrics {
		wanted.Metrics = append(wanted.Metrics, client.Metric{Name: m.Name, Unit: m.Unit, Description: m.Description})
	}
	source, _, err := p.client.EnsureSource(ctx, wanted)
	if err != nil {
		return "", err
	}
	p.ids[name] = source.ID
	return source.ID, nil
}

// forgetSources has the sources looked for again: points were refused, and a
// source that somebody deleted is the likely cause. It is false when that was
// done a moment ago already.
func (p *publisher) forgetSources() bool {
	now := time.Now()
	if now.Sub(p.remade) < remakeEvery {
		return false
	}
	p.remade = now
	clear(p.ids)
	return true
}

// refusalOf says in a line why a whole request was refused.
func refusalOf(err error) string {
	text := publicText(err)
	var fe *fault.Error
	if !errors.As(err, &fe) {
		return text
	}
	var parts []string
	for _, name := range []string{"field", "reason"} {
		if detail, ok := fe.Details[name].(string); ok && !strings.Contains(text, detail) {
			parts = append(parts, detail)
		}
	}
	if len(parts) == 0 {
		return text
	}
	return text + " (" + strings.Join(parts, ": ") + ")"
}
