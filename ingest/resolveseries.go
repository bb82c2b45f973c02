package ingest

import (
	"context"
	"fmt"
	"strings"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// resolveSeries makes the request's series out of its labels and finds their
// ids, registering those that are new. Points of series that the registry
// refuses are rejected.
func (r *resolver) resolveSeries(ctx context.Context, b *batch) error {
	b.identify(&r.deps.FingerprintKey)
	finals := b.output.finals
	var unknown []int32
	for i := range finals {
		if finals[i].registered {
			continue
		}
		if id, ok := r.series.get(finals[i].ref.Fingerprint); ok {
			finals[i].ref.ID, finals[i].registered = id, true
			continue
		}
		unknown = append(unknown, int32(i))
	}
	r.metrics.seriesHits.Add(float64(len(finals) - len(unknown)))
	r.metrics.seriesMisses.Add(float64(len(unknown)))
	refused := false
	for len(unknown) > 0 {
		n := min(len(unknown), maxRegistered)
		all, err := r.register(ctx, b, unknown[:n])
		if err != nil {
			return err
		}
		refused = refused || !all
		unknown = unknown[n:]
	}
	if refused {
		return r.rejectRefused(ctx, b)
	}
	return nil
}

// register asks the registry for series, and reports whether it has all.
func (r *resolver) register(ctx context.Context, b *batch, which []int32) (all bool, err error) {
	identities := make([]pointblock.Identity, len(which))
	fingerprints := make([]pointblock.Fingerprint, len(which))
	for i, at := range which {
		f := &b.output.finals[at]
		identities[i] = clone(b.identity(&b.labels.list[f.label], f.kind, &b.output.tags))
		fingerprints[i] = f.ref.Fingerprint
	}
	ids, ok, err := r.deps.Registry.RegisterSeries(ctx, b.workspace, identities, fingerprints)
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
		r.series.put(fingerprints[i], ids[i])
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
func (r *resolver) rejectRefused(ctx context.Context, b *batch) error {
	r.sources.forget(b.workspace)
	for i := range b.sources.list {
		b.sources.list[i].known = false
	}
	if err := r.askForSources(ctx, b.workspace, b.sources.list); err != nil {
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
