package resolve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// How many sources and series the stores are asked for at once.
const (
	MaxAsked      = 4096
	maxRegistered = 4096
)

// Sources finds the request's sources, and rejects the points of those
// that are not in the workspace. With create, those that no source has the name of are
// created.
func (r *Resolver) Sources(ctx context.Context, b *block.Batch, create bool) error {
	list := b.Sources.List
	if create {
		b.MarkUsed()
	}
	if r.sources.lookup(b.Workspace, list) {
		r.metrics.SourcesHits.Inc()
	} else {
		r.metrics.SourcesMisses.Inc()
		if err := r.findSources(ctx, b, create); err != nil {
			return err
		}
	}
	if err := r.divide(ctx, b); err != nil {
		return err
	}
	for i := range b.Labels.List {
		l := &b.Labels.List[i]
		if list[l.Source].Known {
			continue
		}
		why := rejection.SourceUnknown
		if refused := list[l.Source].Refused; refused != rejection.None {
			why = refused
		}
		for kind, n := range l.Count {
			b.Reject(why, l.First[kind], rejection.Whole, n, l)
		}
		l.Count = [2]int{}
	}
	return nil
}

// findSources asks the store for the request's sources, has those made that are to be, and
// remembers them.
func (r *Resolver) findSources(ctx context.Context, b *block.Batch, create bool) error {
	asked, question := time.Now(), r.sources.ask(b.Workspace)
	defer r.sources.answered(b.Workspace, question)
	if err := r.askForSources(ctx, b.Workspace, b.Sources.List); err != nil {
		return err
	}
	if create {
		if err := r.createSources(ctx, b); err != nil {
			return err
		}
	}
	r.sources.add(b.Workspace, b.Sources.List, question, asked)
	return nil
}

// divide chooses the partitions of the request's sources. The route of this moment stays
// that of the request, however long it takes: its records say so, and so they have lower
// versions than those that are sent by a later one.
func (r *Resolver) divide(ctx context.Context, b *block.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, r.deps.RouteTimeout)
	defer cancel()
	route, err := r.deps.Routes.Route(ctx)
	if err != nil {
		return fmt.Errorf("dividing points among partitions: %w", err)
	}
	b.Route = route.Number
	for i := range b.Sources.List {
		if s := &b.Sources.List[i]; s.Known {
			s.Partition = route.Partition(s.ID)
		}
	}
	return nil
}

// askForSources asks the store for the sources that are not known yet.
func (r *Resolver) askForSources(ctx context.Context, workspace uuid.UUID, list []block.Source) error {
	var ids []uuid.UUID
	var names []string
	for i := range list {
		switch s := &list[i]; {
		case s.Known || s.Void:
		case s.ByName:
			names = append(names, strings.Clone(s.Name))
		default:
			ids = append(ids, s.ID)
		}
	}
	exist, named := map[uuid.UUID]bool{}, map[string]uuid.UUID{}
	for some := range slices.Chunk(ids, MaxAsked) {
		found, err := r.deps.Sources.SourcesByID(ctx, workspace, some)
		if err != nil {
			return fmt.Errorf("finding sources: %w", err)
		}
		maps.Copy(exist, found)
	}
	for some := range slices.Chunk(names, MaxAsked) {
		found, err := r.deps.Sources.SourcesByName(ctx, workspace, some)
		if err != nil {
			return fmt.Errorf("finding sources by name: %w", err)
		}
		maps.Copy(named, found)
	}
	for i := range list {
		switch s := &list[i]; {
		case s.Known || s.Void:
		case s.ByName:
			s.ID, s.Known = named[s.Name]
		default:
			s.Known = exist[s.ID]
		}
	}
	return nil
}

// createSources creates the sources that the request names and that do not exist,
// up to the workspace's limit.
func (r *Resolver) createSources(ctx context.Context, b *block.Batch) error {
	list := b.Sources.List
	var names []string
	for i := range list {
		if s := &list[i]; !s.Known && !s.Void && s.Used {
			names = append(names, strings.Clone(s.Name))
		}
	}
	made := map[string]uuid.UUID{}
	for some := range slices.Chunk(names, MaxAsked) {
		standing, err := r.deps.Sources.CreateSources(ctx, b.Workspace, some)
		if err != nil {
			return fmt.Errorf("creating sources: %w", err)
		}
		maps.Copy(made, standing)
	}
	r.metrics.Created.Add(float64(len(made)))
	for i := range list {
		s := &list[i]
		if s.Known || s.Void || !s.Used {
			continue
		}
		if s.ID, s.Known = made[s.Name]; !s.Known {
			s.Refused = rejection.SourceLimit
		}
	}
	return nil
}
