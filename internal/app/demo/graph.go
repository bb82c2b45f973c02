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
	surveyEvery = 5 * time.Second
	settled     = 10 * time.Second // the age from which a process is drawn
	// surveyTimeout bounds an inventory; a file system that does not answer blocks it.
	surveyTimeout = 10 * time.Second
	graphTimeout  = 15 * time.Second // for the calls of one change
	graphAgain    = 10 * time.Second // the pause after an error
	linkEvery     = time.Minute      // between two checks of a source's node
)

// grapher keeps the machine's part of the graph equal to the machine, and the sources linked to its nodes.
type grapher struct {
	*session
	client        *client.Client
	surveyor      *machine.Surveyor
	host, weather *hostgraph.Syncer
	linked        map[string]time.Time // until when the link of a source is trusted
	reported      string               // the last error that was printed
}

func newGrapher(s *session) *grapher {
	// Waits for the graph are not waits for the points: the view does not show them.
	c := s.client.With(client.Retry{Total: graphTimeout})
	name := machine.HostName()
	return &grapher{
		session: s, client: c, surveyor: machine.NewSurveyor(name, cmp.Or(s.options.settled, settled)),
		host: hostgraph.NewSyncer(c, hostgraph.HostOwner(name)), weather: hostgraph.NewSyncer(c, hostgraph.WeatherOwner),
		linked: map[string]time.Time{},
	}
}

// run works until ctx ends. It prints an error once and tries again.
func (g *grapher) run(ctx context.Context) {
	every := cmp.Or(g.options.surveyEvery, surveyEvery)
	for {
		wait := every
		key, _, _ := g.keys.current(time.Now())
		err := g.draw(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			g.reported = ""
		case fault.Is(err, fault.Unauthenticated):
			if g.keys.renew(ctx, key) != nil {
				wait = keyEvery
			}
		default:
			wait = graphAgain
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

// draw brings the graph up to date, the links last.
func (g *grapher) draw(ctx context.Context) error {
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
		g.found(func() { g.session.host = host })
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

// survey makes an inventory. One that is blocked in the kernel is abandoned.
func (g *grapher) survey(ctx context.Context) (*machine.Inventory, error) {
	made := make(chan machine.Inventory, 1)
	bounded, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	surveyor := g.surveyor
	go func() { made <- surveyor.Survey(bounded) }()
	select {
	case inventory := <-made:
		return &inventory, nil
	case <-bounded.Done():
		g.surveyor = machine.NewSurveyor(machine.HostName(), cmp.Or(g.options.settled, settled))
		return nil, fmt.Errorf("taking the machine's inventory: %w", bounded.Err())
	}
}

// link links a source to its node. A source that does not exist yet is created with its node.
func (g *grapher) link(ctx context.Context, name string, of *hostgraph.Syncer, key string) error {
	node, ok := of.ID(key)
	if id := node.String(); !ok || (g.nodeOf(name) == id && time.Now().Before(g.linked[name])) {
		return nil
	}
	g.found(func() { g.nodes[name] = node.String() })
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
	g.linked[name] = time.Now().Add(linkEvery)
	return nil
}
