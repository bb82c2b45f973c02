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

// Maximum numbers of sources and series per query of a store.
const (
	MaxLookupBatch = 4096
	maxRegistered  = 4096
)

// Sources finds the request's sources and rejects the points of sources that are not in the
// workspace. If create is set, it creates a source for each unknown name.
func (r *Resolver) Sources(ctx context.Context, b *block.Batch, create bool) error {
	list := b.Sources.List
	if create {
		b.MarkUsed()
	}
	known, refresh := r.sources.lookup(b.Workspace, list)
	if refresh {
		go r.refresh(context.WithoutCancel(ctx), b.Workspace)
	}
	if known {
		r.metrics.SourcesHits.Inc()
	} else {
		r.metrics.SourcesMisses.Inc()
		if err := r.findSources(ctx, b, create); err != nil {
			return err
		}
	}
	if err := r.assignPartitions(ctx, b); err != nil {
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
			b.Reject(why, int(l.First[kind]), rejection.NoPosition, int(n), l)
		}
		clear(l.Count[:])
	}
	return nil
}

// findSources reads the request's sources from the store, creates the missing ones if create is
// set, and caches them.
func (r *Resolver) findSources(ctx context.Context, b *block.Batch, create bool) error {
	return r.cacheSources(b.Workspace, b.Sources.List, func() error {
		if err := r.querySources(ctx, b.Workspace, b.Sources.List); err != nil || !create {
			return err
		}
		return r.createSources(ctx, b)
	})
}

// cacheSources caches the sources that read makes known. They expire by the time before the read.
func (r *Resolver) cacheSources(workspace uuid.UUID, list []block.Source, read func() error) error {
	start, reads := time.Now(), r.sources.beginRead(workspace)
	defer r.sources.endRead(workspace, reads)
	if err := read(); err != nil {
		return err
	}
	r.sources.add(workspace, list, reads, start)
	return nil
}

// refresh reads the sources of a workspace that are in use again, before they expire. If it fails, requests read them
// themselves when they have expired, and report the error.
func (r *Resolver) refresh(ctx context.Context, workspace uuid.UUID) {
	ctx, cancel := context.WithTimeout(ctx, r.sources.refreshAhead())
	defer cancel()
	list := r.sources.takeUsed(workspace)
	_ = r.cacheSources(workspace, list, func() error { return r.querySources(ctx, workspace, list) })
}

// assignPartitions sets the partitions of the request's sources. The request keeps the current
// route, however long it takes. Its records contain the number of the route, so they have lower
// versions than records that are sent by a later route.
func (r *Resolver) assignPartitions(ctx context.Context, b *block.Batch) error {
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

// querySources reads the sources that are not known yet from the store.
func (r *Resolver) querySources(ctx context.Context, workspace uuid.UUID, list []block.Source) error {
	var ids []uuid.UUID
	var names []string
	for i := range list {
		switch s := &list[i]; {
		case s.Known || s.InvalidName:
		case s.ByName:
			names = append(names, strings.Clone(s.Name))
		default:
			ids = append(ids, s.ID)
		}
	}
	existing, byName := map[uuid.UUID]bool{}, map[string]uuid.UUID{}
	for chunk := range slices.Chunk(ids, MaxLookupBatch) {
		result, err := r.deps.Sources.SourcesByID(ctx, workspace, chunk)
		if err != nil {
			return fmt.Errorf("finding sources: %w", err)
		}
		maps.Copy(existing, result)
	}
	for chunk := range slices.Chunk(names, MaxLookupBatch) {
		result, err := r.deps.Sources.SourcesByName(ctx, workspace, chunk)
		if err != nil {
			return fmt.Errorf("finding sources by name: %w", err)
		}
		maps.Copy(byName, result)
	}
	for i := range list {
		switch s := &list[i]; {
		case s.Known || s.InvalidName:
		case s.ByName:
			s.ID, s.Known = byName[s.Name]
		default:
			s.Known = existing[s.ID]
		}
	}
	return nil
}

// createSources creates the missing sources of the request, up to the workspace's limit.
func (r *Resolver) createSources(ctx context.Context, b *block.Batch) error {
	list := b.Sources.List
	var names []string
	for i := range list {
		if s := &list[i]; !s.Known && !s.InvalidName && s.Used {
			names = append(names, strings.Clone(s.Name))
		}
	}
	created := map[string]uuid.UUID{}
	for chunk := range slices.Chunk(names, MaxLookupBatch) {
		result, err := r.deps.Sources.CreateSources(ctx, b.Workspace, chunk, b.Hooks.SourceTags)
		if err != nil {
			return fmt.Errorf("creating sources: %w", err)
		}
		maps.Copy(created, result)
	}
	r.metrics.Created.Add(float64(len(created)))
	for i := range list {
		s := &list[i]
		if s.Known || s.InvalidName || !s.Used {
			continue
		}
		if s.ID, s.Known = created[s.Name]; !s.Known {
			s.Refused = rejection.SourceLimit
		}
	}
	return nil
}
