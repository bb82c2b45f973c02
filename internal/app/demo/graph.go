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
	surveyInterval     = 5 * time.Second
	minProcessAge      = 10 * time.Second // the age from which a process is in the graph
	graphTimeout       = 15 * time.Second // for the calls of one change
	graphRetryInterval = 10 * time.Second // the pause after an error
)

// graphUpdater keeps the machine's part of the graph up to date.
type graphUpdater struct {
	*session
	client        *client.Client
	surveyor      *machine.Surveyor
	host, weather *hostgraph.Syncer
	reported      string // the last error that was printed
}

func newGraphUpdater(s *session) *graphUpdater {
	// Retries of calls for the graph are not shown in the view, which shows those for points.
	c := s.client.WithRetry(client.Retry{Total: graphTimeout})
	return &graphUpdater{
		session: s, client: c, surveyor: machine.NewSurveyor(cmp.Or(s.options.minProcessAge, minProcessAge)),
		host:    hostgraph.NewSyncer(c, hostgraph.HostOwner(machine.HostName())),
		weather: hostgraph.NewSyncer(c, hostgraph.WeatherOwner),
	}
}

// run updates the graph until ctx ends. It prints an error once and retries.
func (g *graphUpdater) run(ctx context.Context) {
	for {
		wait := cmp.Or(g.options.surveyInterval, surveyInterval)
		err := g.updateGraph(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			g.reported = ""
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

// updateGraph updates the graph and reports the nodes that sources belong to.
func (g *graphUpdater) updateGraph(ctx context.Context) error {
	inventory, err := g.surveyor.Survey(ctx)
	if err != nil {
		return fmt.Errorf("taking the machine's inventory: %w", err)
	}
	report, err := g.host.Sync(ctx, hostgraph.Host(machine.HostName(), &inventory))
	if err == nil && len(g.stations) > 0 {
		_, err = g.weather.Sync(ctx, hostgraph.Weather(g.stations))
	}
	nodeOf := map[string]string{}
	for _, s := range g.sampler.Sources() {
		nodeOf[s.Name] = g.host.ID(hostgraph.KeyOfSource(s.Tags["kind"]))
	}
	for _, s := range g.stations {
		nodeOf[s.Source.Name] = g.weather.ID(hostgraph.StationKey(s.Place))
	}
	g.update(func(s *status) {
		s.graph = graphStatus{
			host: g.host.ID(hostgraph.MachineKey), nodes: report.Nodes, edges: report.Edges,
			changes: s.graph.changes + report.Applied, nodeOf: nodeOf,
		}
	})
	return err
}
