package tail

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// directory is what is known of a workspace's sources: of those whose points came
// while somebody selected them.
type directory struct {
	store     sourceStore
	workspace uuid.UUID
	labels    map[uuid.UUID]*registry.SourceLabel
	read      time.Time // when all were last compared with the store
}

// find sees to it that the sources are known. One that the store does not know
// counts as deleted: points are accepted of sources that are there.
func (d *directory) find(ctx context.Context, ids map[uuid.UUID]struct{}) error {
	unknown := map[uuid.UUID]int64{}
	for id := range ids {
		if d.labels[id] == nil {
			unknown[id] = 0
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	labels, err := d.ask(ctx, unknown)
	if err != nil {
		return err
	}
	for id := range unknown {
		d.labels[id] = &registry.SourceLabel{ID: id, Deleted: true}
	}
	d.adopt(labels)
	return nil
}

// refresh brings up to date what is known, and reports whether anything changed.
func (d *directory) refresh(ctx context.Context) (changed bool, err error) {
	d.read = time.Now()
	known := make(map[uuid.UUID]int64, len(d.labels))
	for id, label := range d.labels {
		if !label.Deleted { // that is for good
			known[id] = label.Version
		}
	}
	if len(known) == 0 {
		return false, nil
	}
	labels, err := d.ask(ctx, known)
	d.adopt(labels)
	return len(labels) > 0, err
}

func (d *directory) ask(ctx context.Context, known map[uuid.UUID]int64) ([]registry.SourceLabel, error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	return d.store.SourceLabels(ctx, d.workspace, known)
}

func (d *directory) adopt(labels []registry.SourceLabel) {
	for i := range labels {
		d.labels[labels[i].ID] = &labels[i]
	}
}

// forget notes that a source is gone. What it was called stays known.
func (d *directory) forget(id uuid.UUID) {
	gone := registry.SourceLabel{ID: id}
	if label := d.labels[id]; label != nil {
		gone = *label
	}
	gone.Deleted = true
	d.labels[id] = &gone
}
