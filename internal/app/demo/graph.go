package demo

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/hostgraph"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	surveyInterval = 5 * time.Second
	minProcessAge  = 10 * time.Second // the age from which a process is in the graph
	// surveyTimeout bounds an inventory; a file system that does not answer blocks it.
	surveyTimeout      = 10 * time.Second
	graphTimeout       = 15 * time.Second // for the calls of one change
	graphRetryInterval = 10 * time.Second // the pause after an error
	linkCheckInterval  = time.Minute      // between two checks of a source's node
)

// graphUpdater keeps the machine's part of the graph up to date, and the sources linked to its nodes.
type graphUpdater struct {
	*session
	client        *client.Client
	surveyor      *machine.Surveyor
	host, weather *hostgraph.Syncer
	linked        map[string]time.Time // until when the link of a source is trusted
	reported      string               // the last error that was printed
}

func newGraphUpdater(s *session) *graphUpdater {
	// Retries of calls for the graph are not shown in the view, which shows those for points.
	c := s.client.WithRetry(client.Retry{Total: graphTimeout})
	name := machine.HostName()
	return &graphUpdater{
		session: s, client: c, surveyor: machine.NewSurveyor(name, cmp.Or(s.options.minProcessAge, minProcessAge)),
		host: hostgraph.NewSyncer(c, hostgraph.HostOwner(name)), weather: hostgraph.NewSyncer(c, hostgraph.WeatherOwner),
		linked: map[string]time.Time{},
	}
}

// run updates the graph until ctx ends. It prints an error once and retries.
func (g *graphUpdater) run(ctx context.Context) {
	every := cmp.Or(g.options.surveyInterval, surveyInterval)
	for {
		wait := every
		key, _, _ := g.keys.current(time.Now())
		err := g.update(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			g.reported = ""
		case fault.Is(err, fault.Unauthenticated):
			if g.keys.renew(ctx, key) != nil {
				wait = keyRetryInterval
			}
		default:
			wait = graphRetryInterval
			if text := publicText(err); text != g.reported {
				g.reported = text
				g.note("graph: " + err.Error())
			}
			if fault.Is(err, fault.Forbidden) {
				return
			}
		}
		if !sleep.For(ctx, wait) {
			return
		}
	}
}

// update updates the graph and then the links of the sources.
func (g *graphUpdater) update(ctx context.Context) error {
	inventory, err := g.survey(ctx)
	if err != nil {
		return err
	}
	report, err := g.host.Sync(ctx, hostgraph.Host(inventory, g.host.Keys(hostgraph.Program)))
	g.stats.update(func(s *stats) {
		s.graph.nodes, s.graph.edges, s.graph.changes = report.Nodes, report.Edges, s.graph.changes+int64(report.Applied)
	})
	if err != nil {
		return err
	}
	if host, ok := g.host.ID(hostgraph.MachineKey); ok && report.Left == 0 {
		g.record(func() { g.session.host = host })
	}
	for _, s := range g.sampler.Sources() {
		if err := g.link(ctx, s.Name, g.host, hostgraph.KeyOfSource(s.Kind)); err != nil {
			return err
		}
	}
	if len(g.stations) == 0 {
		return nil
	}
	if _, err := g.weather.Sync(ctx, hostgraph.Weather(g.stations)); err != nil {
		return err
	}
	for i := range g.stations {
		if err := g.link(ctx, stationName(&g.stations[i]), g.weather, hostgraph.StationKey(g.stations[i])); err != nil {
			return err
		}
	}
	return nil
}

// survey creates an inventory. It abandons a survey that is blocked in the kernel.
func (g *graphUpdater) survey(ctx context.Context) (*machine.Inventory, error) {
	inventories := make(chan machine.Inventory, 1)
	bounded, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	surveyor := g.surveyor
	go func() { inventories <- surveyor.Survey(bounded) }()
	select {
	case inventory := <-inventories:
		return &inventory, nil
	case <-bounded.Done():
		g.surveyor = machine.NewSurveyor(machine.HostName(), cmp.Or(g.options.minProcessAge, minProcessAge))
		return nil, fmt.Errorf("taking the machine's inventory: %w", bounded.Err())
	}
}

// link links a source to its node. A source that does not exist yet is linked when it is created.
func (g *graphUpdater) link(ctx context.Context, name string, syncer *hostgraph.Syncer, key string) error {
	node, ok := syncer.ID(key)
	if id := node.String(); !ok || (g.nodeOf(name) == id && time.Now().Before(g.linked[name])) {
		return nil
	}
	g.record(func() { g.nodes[name] = node.String() })
	source, err := g.client.SourceByName(ctx, name)
	if err == nil && source.NodeID != node.String() {
		err = g.client.LinkSource(ctx, source.ID, node.String())
	}
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("linking source %s to its node: %w", name, err)
	}
	g.linked[name] = time.Now().Add(linkCheckInterval)
	return nil
}
