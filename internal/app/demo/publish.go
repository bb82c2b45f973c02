package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/hostgraph"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// sourceCheckInterval is the minimum time between two checks of the sources, after points were refused.
	sourceCheckInterval = 10 * time.Second
	visibleTimeout      = 8 * time.Second // for points to become visible

	surveyInterval     = 5 * time.Second
	minProcessAge      = 10 * time.Second // the age from which a process is in the graph
	graphTimeout       = 15 * time.Second // for the calls of one change
	graphRetryInterval = 10 * time.Second // the pause after an error
)

// publish sends the rounds of the queue, one a request, until ctx ends. It returns an error if the key may not write.
func (s *session) publish(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case round := <-s.queue:
			if err := s.send(ctx, round); err != nil {
				return fmt.Errorf("the demo's key may not write to the workspace: %w", err)
			}
		}
	}
}

// send sends a round and counts what was stored. It returns an error only if no later round can be sent either.
func (s *session) send(ctx context.Context, round []client.Point) error {
	var receipt client.Receipt
	err := s.checkSources(ctx)
	if err == nil {
		receipt, err = s.client.IngestPoints(ctx, round)
	}
	switch {
	case err != nil && (ctx.Err() != nil || fault.Is(err, fault.Forbidden)):
		return err
	case err != nil:
		before := s.refusal
		if s.refusal = publicText(err); s.refusal != before {
			s.note("points were refused: " + err.Error())
		}
		receipt.Rejected = len(round)
	case len(receipt.Errors) > 0:
		s.refusal = receipt.Errors[0].Field + ": " + receipt.Errors[0].Reason
	}
	s.update(func(st *status) {
		st.waiting -= len(round)
		st.sent += receipt.Accepted
		st.rejected += receipt.Rejected
		if err != nil {
			st.trouble = s.refusal
			return
		}
		st.ingest.add(receipt.Took)
	})
	if err == nil && len(s.queue) == 0 { // otherwise it catches up first
		s.awaitVisible(ctx, receipt.Checkpoint)
	}
	return nil
}

// checkSources creates missing sources and links sources to their nodes, at the start, when the nodes change, and after
// points were refused, because a source may have been deleted.
func (s *session) checkSources(ctx context.Context) error {
	nodeOf := s.current().nodeOf
	refused := s.refusal != "" && time.Since(s.checkedAt) > sourceCheckInterval
	if !s.checkedAt.IsZero() && !refused && maps.Equal(nodeOf, s.linked) {
		return nil
	}
	sources := s.sampler.Sources()
	for _, station := range s.stations {
		sources = append(sources, station.Source)
	}
	for _, described := range sources {
		described.IntervalSeconds = cmp.Or(described.IntervalSeconds, s.options.Interval.Seconds())
		described.NodeID = nodeOf[described.Name]
		source, _, err := s.client.EnsureSource(ctx, described)
		if err != nil {
			return fmt.Errorf("source %s: %w", described.Name, err)
		}
		if node := described.NodeID; node != "" && node != source.NodeID {
			if err := s.client.LinkSource(ctx, source.ID, node); err != nil && ctx.Err() == nil {
				s.note("graph: linking source " + described.Name + " to its node: " + err.Error()) // points are sent all the same
			}
		}
	}
	s.checkedAt, s.linked, s.refusal = time.Now(), nodeOf, ""
	return nil
}

// awaitVisible measures the time until queries return the points of a checkpoint.
func (s *session) awaitVisible(ctx context.Context, checkpoint string) {
	began := time.Now()
	err := s.client.RetryUntil(visibleTimeout).WaitVisible(ctx, checkpoint)
	s.update(func(st *status) {
		switch {
		case err == nil:
			st.visible.add(time.Since(began))
			st.trouble = s.refusal
		case ctx.Err() == nil:
			st.trouble = "waiting until the points are visible: " + publicText(err)
		}
	})
}

// updateGraph keeps the machine's part of the graph up to date until ctx ends. It prints an error once and retries.
func (s *session) updateGraph(ctx context.Context) {
	// Retries of calls for the graph are not shown in the view, which shows those for points.
	c := s.client.WithRetry(client.Retry{Total: graphTimeout})
	host := hostgraph.NewSyncer(c, "livegraph-demo "+machine.HostName())
	stations := hostgraph.NewSyncer(c, "livegraph-demo weather") // the same for all machines
	surveyor := machine.NewSurveyor(cmp.Or(s.options.minProcessAge, minProcessAge))
	reported := ""
	for wait := time.Duration(0); sleep.For(ctx, wait); {
		err := s.syncGraph(ctx, surveyor, host, stations)
		if err == nil || ctx.Err() != nil {
			wait, reported = cmp.Or(s.options.surveyInterval, surveyInterval), ""
			continue
		}
		if text := publicText(err); text != reported {
			reported = text
			s.note("graph: " + err.Error())
		}
		if fault.Is(err, fault.Forbidden) {
			return
		}
		wait = graphRetryInterval
	}
}

// syncGraph updates the graph once and reports the nodes that sources belong to.
func (s *session) syncGraph(ctx context.Context, surveyor *machine.Surveyor, host, stations *hostgraph.Syncer) error {
	inventory, err := surveyor.Survey(ctx)
	if err != nil {
		return fmt.Errorf("taking the machine's inventory: %w", err)
	}
	report, err := host.Sync(ctx, hostgraph.Host(machine.HostName(), &inventory))
	if err == nil && len(s.stations) > 0 {
		_, err = stations.Sync(ctx, hostgraph.Weather(s.stations))
	}
	nodeOf := map[string]string{}
	for _, source := range s.sampler.Sources() {
		nodeOf[source.Name] = host.ID(hostgraph.KeyOfSource(source.Tags["kind"]))
	}
	for _, station := range s.stations {
		nodeOf[station.Source.Name] = stations.ID(hostgraph.StationKey(station.Place))
	}
	s.update(func(st *status) {
		st.host, st.nodeOf = host.ID(hostgraph.MachineKey), nodeOf
		st.nodes, st.edges, st.changes = report.Nodes, report.Edges, st.changes+report.Applied
	})
	return err
}
