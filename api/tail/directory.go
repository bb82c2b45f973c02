package tail

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// directory caches a workspace's sources: those whose points have arrived while a stream
// selected them.
type directory struct {
	store     sourceStore
	workspace uuid.UUID
	labels    map[uuid.UUID]*registry.SourceLabel
	read      time.Time // last refresh of all sources from the store
}

// load reads the sources that are not cached from the store. A source that the store does
// not have counts as deleted, because points are only accepted for existing sources.
func (d *directory) load(ctx context.Context, ids map[uuid.UUID]struct{}) error {
	unknown := map[uuid.UUID]int64{}
	for id := range ids {
		if d.labels[id] == nil {
			unknown[id] = 0
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	labels, err := d.query(ctx, unknown)
	if err != nil {
		return err
	}
	for id := range unknown {
		d.labels[id] = &registry.SourceLabel{ID: id, Deleted: true}
	}
	d.update(labels)
	return nil
}

// refresh reads changes of the cached sources from the store and reports whether there are any.
func (d *directory) refresh(ctx context.Context) (changed bool, err error) {
	d.read = time.Now()
	known := make(map[uuid.UUID]int64, len(d.labels))
	for id, label := range d.labels {
		if !label.Deleted { // deletions are final
			known[id] = label.Version
		}
	}
	if len(known) == 0 {
		return false, nil
	}
	labels, err := d.query(ctx, known)
	d.update(labels)
	return len(labels) > 0, err
}

func (d *directory) query(ctx context.Context, known map[uuid.UUID]int64) ([]registry.SourceLabel, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return d.store.SourceLabels(ctx, d.workspace, known)
}

func (d *directory) update(labels []registry.SourceLabel) {
	for i := range labels {
		d.labels[labels[i].ID] = &labels[i]
	}
}

// markDeleted marks a source as deleted. Its name remains cached.
func (d *directory) markDeleted(id uuid.UUID) {
	deleted := registry.SourceLabel{ID: id}
	if label := d.labels[id]; label != nil {
		deleted = *label
	}
	deleted.Deleted = true
	d.labels[id] = &deleted
}
