package embeddings

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// StoreEvent stores a batch of one event.
func (c *Consumer) StoreEvent(ctx context.Context, value []byte) error {
	b := handler{c}.NewBatch()
	if err := b.Add(&kgo.Record{Value: value}); err != nil {
		return err
	}
	return b.Store(ctx)
}

// BuildIndex builds an index up to the point at which it becomes live. finish makes it live and
// updates it, as the index manager does.
func (c *Consumer) BuildIndex(ctx context.Context) (finish func(context.Context) error, err error) {
	k := c.manager
	index, err := c.deps.Graph.BeginIndex(ctx, c.deps.Embedder.Model(), c.cfg.Collections, textindex.CauseFirst)
	if err != nil {
		return nil, err
	}
	if err := k.createCollection(ctx, &index); err != nil {
		return nil, err
	}
	if err := k.fill(ctx, index); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := k.makeLive(ctx, index); err != nil {
			return err
		}
		live, _, err := k.indexes(ctx)
		if err != nil {
			return err
		}
		return k.updateLive(ctx, *live)
	}, nil
}
