package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// How many sources and series the stores are asked for at once.
const (
	maxAsked      = 4096
	maxRegistered = 4096
)

// resolveSources finds the request's sources, and rejects the points of those
// that are not in the workspace. With create, those that no source has the name of are
// created.
func (r *resolver) resolveSources(ctx context.Context, b *batch, create bool) error {
	list := b.sources.list
	if create {
		b.markUsed()
	}
	if r.sources.lookup(b.workspace, list) {
		r.metrics.sourcesHits.Inc()
	} else {
		r.metrics.sourcesMisses.Inc()
		if err := r.findSources(ctx, b, create); err != nil {
			return err
		}
	}
	if err := r.divide(ctx, b); err != nil {
		return err
	}
	for i := range b.labels.list {
		l := &b.labels.list[i]
		if list[l.source].known {
			continue
		}
		why := sourceUnknown
		if refused := list[l.source].refused; refused != accepted {
			why = refused
		}
		for kind, n := range l.count {
			b.reject(why, l.first[kind], whole, n, l)
		}
		l.count = [2]int{}
	}
	return nil
}

// findSources asks the store for the request's sources, has those made that are to be, and
// remembers them.
func (r *resolver) findSources(ctx context.Context, b *batch, create bool) error {
	asked, question := time.Now(), r.sources.ask(b.workspace)
	defer r.sources.answered(b.workspace, question)
	if err := r.askForSources(ctx, b.workspace, b.sources.list); err != nil {
		return err
	}
	if create {
		if err := r.createSources(ctx, b); err != nil {
			return err
		}
	}
	r.sources.add(b.workspace, b.sources.list, question, asked)
	return nil
}

// divide chooses the partitions of the request's sources. The route of this moment stays
// that of the request, however long it takes: its records say so, and so they have lower
// versions than those that are sent by a later one.
func (r *resolver) divide(ctx context.Context, b *batch) error {
	ctx, cancel := context.WithTimeout(ctx, r.deps.RouteTimeout)
	defer cancel()
	route, err := r.deps.Routes.Route(ctx)
	if err != nil {
		return fmt.Errorf("dividing points among partitions: %w", err)
	}
	b.route = route.Number
	for i := range b.sources.list {
		if s := &b.sources.list[i]; s.known {
			s.partition = route.Partition(s.id)
		}
	}
	return nil
}

// askForSources asks the store for the sources that are not known yet.
func (r *resolver) askForSources(ctx context.Context, workspace uuid.UUID, list []sourceRef) error {
	var ids []uuid.UUID
	var names []string
	for i := range list {
		switch s := &list[i]; {
		case s.known || s.void:
		case s.byName:
			names = append(names, strings.Clone(s.name))
		default:
			ids = append(ids, s.id)
		}
	}
	exist, named := map[uuid.UUID]bool{}, map[string]uuid.UUID{}
	for some := range slices.Chunk(ids, maxAsked) {
		found, err := r.deps.Sources.SourcesByID(ctx, workspace, some)
		if err != nil {
			return fmt.Errorf("finding sources: %w", err)
		}
		maps.Copy(exist, found)
	}
	for some := range slices.Chunk(names, maxAsked) {
		found, err := r.deps.Sources.SourcesByName(ctx, workspace, some)
		if err != nil {
			return fmt.Errorf("finding sources by name: %w", err)
		}
		maps.Copy(named, found)
	}
	for i := range list {
		switch s := &list[i]; {
		case s.known || s.void:
		case s.byName:
			s.id, s.known = named[s.name]
		default:
			s.known = exist[s.id]
		}
	}
	return nil
}

// createSources makes the sources that the request names and that are not there,
// as far as the workspace has room.
func (r *resolver) createSources(ctx context.Context, b *batch) error {
	list := b.sources.list
	var names []string
	for i := range list {
		if s := &list[i]; !s.known && !s.void && s.used {
			names = append(names, strings.Clone(s.name))
		}
	}
	made := map[string]uuid.UUID{}
	for some := range slices.Chunk(names, maxAsked) {
		standing, err := r.deps.Sources.CreateSources(ctx, b.workspace, some)
		if err != nil {
			return fmt.Errorf("creating sources: %w", err)
		}
		maps.Copy(made, standing)
	}
	r.metrics.created.Add(float64(len(made)))
	for i := range list {
		s := &list[i]
		if s.known || s.void || !s.used {
			continue
		}
		if s.id, s.known = made[s.name]; !s.known {
			s.refused = sourceLimit
		}
	}
	return nil
}
