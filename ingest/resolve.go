package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// How many sources and series the stores are asked for at once.
const (
	maxAsked      = 4096
	maxRegistered = 4096
)

// resolveSources finds the request's sources, and rejects the points of those
// that are not in the workspace.
func (p *Pipeline) resolveSources(ctx context.Context, b *batch) error {
	list := b.sources.list
	if b.format.createsSources() {
		b.markUsed()
	}
	if p.sources.lookup(b.workspace, list) {
		p.metrics.sourcesHits.Inc()
	} else {
		p.metrics.sourcesMisses.Inc()
		if err := p.findSources(ctx, b); err != nil {
			return err
		}
	}
	if err := p.divide(ctx, b); err != nil {
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
func (p *Pipeline) findSources(ctx context.Context, b *batch) error {
	asked, question := time.Now(), p.sources.ask(b.workspace)
	defer p.sources.answered(b.workspace, question)
	if err := p.askForSources(ctx, b.workspace, b.sources.list); err != nil {
		return err
	}
	if b.format.createsSources() {
		if err := p.createSources(ctx, b); err != nil {
			return err
		}
	}
	p.sources.add(b.workspace, b.sources.list, question, asked)
	return nil
}

// divide chooses the partitions of the request's sources. The route of this moment stays
// that of the request, however long it takes: its records say so, and so they have lower
// versions than those that are sent by a later one.
func (p *Pipeline) divide(ctx context.Context, b *batch) error {
	ctx, cancel := context.WithTimeout(ctx, p.deps.Limits.ProduceTimeout)
	defer cancel()
	route, err := p.deps.Routes.Route(ctx)
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
func (p *Pipeline) askForSources(ctx context.Context, workspace uuid.UUID, list []sourceRef) error {
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
		found, err := p.deps.Sources.SourcesByID(ctx, workspace, some)
		if err != nil {
			return fmt.Errorf("finding sources: %w", err)
		}
		maps.Copy(exist, found)
	}
	for some := range slices.Chunk(names, maxAsked) {
		found, err := p.deps.Sources.SourcesByName(ctx, workspace, some)
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

// markUsed notes which sources have points that are not rejected: no source is
// made for others.
func (b *batch) markUsed() {
	for i := range b.labels.list {
		if l := &b.labels.list[i]; l.count[0]+l.count[1] > 0 {
			b.sources.list[l.source].used = true
		}
	}
}

// createSources makes the sources that the request names and that are not there,
// as far as the workspace has room.
func (p *Pipeline) createSources(ctx context.Context, b *batch) error {
	list := b.sources.list
	var names []string
	for i := range list {
		if s := &list[i]; !s.known && !s.void && s.used {
			names = append(names, strings.Clone(s.name))
		}
	}
	made := map[string]uuid.UUID{}
	for some := range slices.Chunk(names, maxAsked) {
		standing, err := p.deps.Sources.CreateSources(ctx, b.workspace, some)
		if err != nil {
			return fmt.Errorf("creating sources: %w", err)
		}
		maps.Copy(made, standing)
	}
	p.metrics.created.Add(float64(len(made)))
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

// resolveSeries makes the request's series out of its labels and finds their
// ids, registering those that are new. Points of series that the registry
// refuses are rejected.
func (p *Pipeline) resolveSeries(ctx context.Context, b *batch) error {
	b.identify(&p.deps.FingerprintKey)
	finals := b.output.finals
	var unknown []int32
	for i := range finals {
		if finals[i].registered {
			continue
		}
		if id, ok := p.series.get(finals[i].ref.Fingerprint); ok {
			finals[i].ref.ID, finals[i].registered = id, true
			continue
		}
		unknown = append(unknown, int32(i))
	}
	p.metrics.seriesHits.Add(float64(len(finals) - len(unknown)))
	p.metrics.seriesMisses.Add(float64(len(unknown)))
	refused := false
	for len(unknown) > 0 {
		n := min(len(unknown), maxRegistered)
		all, err := p.register(ctx, b, unknown[:n])
		if err != nil {
			return err
		}
		refused = refused || !all
		unknown = unknown[n:]
	}
	if refused {
		return p.rejectRefused(ctx, b)
	}
	return nil
}

// register asks the registry for series, and reports whether it has all.
func (p *Pipeline) register(ctx context.Context, b *batch, which []int32) (all bool, err error) {
	identities := make([]pointblock.Identity, len(which))
	fingerprints := make([]pointblock.Fingerprint, len(which))
	for i, at := range which {
		f := &b.output.finals[at]
		identities[i] = clone(b.identity(&b.labels.list[f.label], f.kind, &b.output.tags))
		fingerprints[i] = f.ref.Fingerprint
	}
	ids, ok, err := p.deps.Registry.RegisterSeries(ctx, b.workspace, identities, fingerprints)
	if err != nil {
		return false, fmt.Errorf("registering series: %w", err)
	}
	all = true
	for i, at := range which {
		if !ok[i] {
			all = false
			continue
		}
		f := &b.output.finals[at]
		f.ref.ID, f.registered = ids[i], true
		p.series.put(fingerprints[i], ids[i])
	}
	return all, nil
}

// clone makes an identity that outlives the request.
func clone(id pointblock.Identity) pointblock.Identity {
	id.Metric = strings.Clone(id.Metric)
	tags := make([]pointblock.Tag, len(id.Tags))
	for i, tag := range id.Tags {
		tags[i] = pointblock.Tag{Key: strings.Clone(tag.Key), Value: strings.Clone(tag.Value)}
	}
	id.Tags = tags
	return id
}

// rejectRefused rejects the points of series that the registry refused: because
// the source has gone meanwhile, or else because the workspace is full.
func (p *Pipeline) rejectRefused(ctx context.Context, b *batch) error {
	p.sources.forget(b.workspace)
	for i := range b.sources.list {
		b.sources.list[i].known = false
	}
	if err := p.askForSources(ctx, b.workspace, b.sources.list); err != nil {
		return err
	}
	for i := range b.output.finals {
		f := &b.output.finals[i]
		if f.registered {
			continue
		}
		l := &b.labels.list[f.label]
		why := seriesLimit
		if !b.sources.list[l.source].known {
			why = sourceUnknown
		}
		b.reject(why, f.first, whole, f.count, l)
	}
	return nil
}
