package resolve

import (
	"context"
	"fmt"
	"strings"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Series finds the series that the request's labels name and their ids. It registers new
// series. It rejects the points of series that the registry refuses.
func (r *Resolver) Series(ctx context.Context, b *block.Batch) error {
	b.Identify(&r.deps.FingerprintKey)
	finals := b.Output.Series
	var unknown []int32
	for i := range finals {
		if finals[i].Registered {
			continue
		}
		if id, ok := r.series.get(finals[i].Ref.Fingerprint); ok {
			finals[i].Ref.ID, finals[i].Registered = id, true
			continue
		}
		unknown = append(unknown, int32(i))
	}
	r.metrics.SeriesHits.Add(float64(len(finals) - len(unknown)))
	r.metrics.SeriesMisses.Add(float64(len(unknown)))
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

// register registers series and reports whether the registry accepted all of them.
func (r *Resolver) register(ctx context.Context, b *block.Batch, indexes []int32) (all bool, err error) {
	identities := make([]pointblock.Identity, len(indexes))
	fingerprints := make([]pointblock.Fingerprint, len(indexes))
	for i, index := range indexes {
		f := &b.Output.Series[index]
		identities[i] = clone(b.Identity(&b.Labels.List[f.Label], f.Kind, &b.Output.Tags))
		fingerprints[i] = f.Ref.Fingerprint
	}
	ids, ok, err := r.deps.Registry.RegisterSeries(ctx, b.Workspace, identities, fingerprints)
	if err != nil {
		return false, fmt.Errorf("registering series: %w", err)
	}
	all = true
	for i, index := range indexes {
		if !ok[i] {
			all = false
			continue
		}
		f := &b.Output.Series[index]
		f.Ref.ID, f.Registered = ids[i], true
		r.series.put(fingerprints[i], ids[i])
	}
	return all, nil
}

// clone returns a copy of an identity that outlives the request.
func clone(id pointblock.Identity) pointblock.Identity {
	id.Metric = strings.Clone(id.Metric)
	tags := make([]pointblock.Tag, len(id.Tags))
	for i, tag := range id.Tags {
		tags[i] = pointblock.Tag{Key: strings.Clone(tag.Key), Value: strings.Clone(tag.Value)}
	}
	id.Tags = tags
	return id
}

// rejectRefused rejects the points of series that the registry refused, either because
// the source was deleted meanwhile or because the workspace's limit is reached.
func (r *Resolver) rejectRefused(ctx context.Context, b *block.Batch) error {
	r.sources.forget(b.Workspace)
	for i := range b.Sources.List {
		b.Sources.List[i].Known = false
	}
	if err := r.querySources(ctx, b.Workspace, b.Sources.List); err != nil {
		return err
	}
	for i := range b.Output.Series {
		f := &b.Output.Series[i]
		if f.Registered || f.Count == 0 { // without points, it has exemplars only
			continue
		}
		l := &b.Labels.List[f.Label]
		why := rejection.SeriesLimit
		if !b.Sources.List[l.Source].Known {
			why = rejection.SourceUnknown
		}
		b.Reject(why, int(f.First), rejection.NoPosition, int(f.Count), l)
	}
	return nil
}
