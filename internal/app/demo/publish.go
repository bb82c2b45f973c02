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

	surveyInterval = 10 * time.Second
	minProcessAge  = 10 * time.Second // the age from which a process is in the graph
	graphTimeout   = 15 * time.Second // for the calls of one change
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
	before := s.refusal
	switch s.refusal = ""; {
	case err != nil && (ctx.Err() != nil || fault.Is(err, fault.Forbidden)):
		return err
	case err != nil:
		receipt.Rejected = len(round)
		if s.refusal = publicText(err); s.refusal != before {
			s.note("points were refused: " + err.Error())
		}
	case len(receipt.Errors) > 0:
		s.refusal = receipt.Errors[0].Field + ": " + receipt.Errors[0].Reason
	}
	s.update(func(st *status) {
		st.Waiting, st.Trouble = st.Waiting-len(round), s.refusal
		st.Sent, st.Rejected = st.Sent+receipt.Accepted, st.Rejected+receipt.Rejected
		if err == nil {
			st.Ingest.add(receipt.Took)
		}
	})
	if err == nil && len(s.queue) == 0 { // otherwise it catches up first
		s.awaitVisible(ctx, receipt.Checkpoint)
	}
	return nil
}

// sources returns the sources of the machine and of the history. The NodeID of each is the key of its node.
func (s *session) sources() []client.Source {
	sources := s.sampler.Sources()
	for _, station := range s.stations {
		sources = append(sources, station.Source)
	}
	return sources
}

// checkSources creates missing sources and links sources to their nodes, at the start, when the nodes change, and after
// points were refused, because a source may have been deleted.
func (s *session) checkSources(ctx context.Context) error {
	nodeOf := s.current().nodeOf
	refused := s.refusal != "" && time.Since(s.checkedAt) > sourceCheckInterval
	if !s.checkedAt.IsZero() && !refused && maps.Equal(nodeOf, s.linked) {
		return nil
	}
	for _, described := range s.sources() {
		described.IntervalSeconds = cmp.Or(described.IntervalSeconds, s.options.Interval.Seconds())
		described.NodeID = nodeOf[described.NodeID]
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
	s.checkedAt, s.linked = time.Now(), nodeOf
	return nil
}

// awaitVisible measures the time until queries return the points of a checkpoint.
func (s *session) awaitVisible(ctx context.Context, checkpoint string) {
	began := time.Now()
	err := s.client.RetryUntil(visibleTimeout).WaitVisible(ctx, checkpoint)
	s.update(func(st *status) {
		if err == nil {
			st.Visible.add(time.Since(began))
			st.Trouble = s.refusal
		} else if ctx.Err() == nil {
			st.Trouble = "waiting until the points are visible: " + publicText(err)
		}
	})
}

// updateGraph keeps the machine's part of the graph up to date until ctx ends. It prints an error once and retries.
func (s *session) updateGraph(ctx context.Context) {
	// Retries of calls for the graph are not shown in the view, which shows those for points.
	c := s.client.WithRetry(client.Retry{Total: graphTimeout})
	host := hostgraph.NewSyncer(c, "livegraph-demo "+machine.HostName())
	stations := hostgraph.NewSyncer(c, "livegraph-demo weather") // the same for all machines
	surveyor := &machine.Surveyor{MinAge: cmp.Or(s.options.minProcessAge, minProcessAge)}
	reported := ""
	for wait := time.Duration(0); sleep.For(ctx, wait); {
		wait = cmp.Or(s.options.surveyInterval, surveyInterval)
		err := s.syncGraph(ctx, surveyor, host, stations)
		if err == nil || ctx.Err() != nil {
			reported = ""
		} else if text := publicText(err); text != reported {
			reported = text
			s.note("graph: " + err.Error())
		}
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
	for _, source := range s.sources() {
		nodeOf[source.NodeID] = cmp.Or(host.ID(source.NodeID), stations.ID(source.NodeID))
	}
	s.update(func(st *status) {
		st.nodeOf = nodeOf
		st.Nodes, st.Edges, st.Changes = report.Nodes, report.Edges, st.Changes+report.Applied
	})
	if id := nodeOf[hostgraph.MachineKey]; id != "" {
		s.announce(id)
	}
	return err
}
