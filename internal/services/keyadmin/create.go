package keyadmin

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Creator stores new keys.
type Creator interface {
	CreateKey(ctx context.Context, n access.NewKey) (access.Key, error)
}

// Create creates a key of n.Mode with a new text. Only the text that it returns is the key's secret.
func Create(ctx context.Context, store Creator, n access.NewKey) (access.Key, apikey.Key, error) {
	text := apikey.Generate(n.Mode)
	n.Hash, n.Display = text.Hash(), text.Display()
	created, err := store.CreateKey(ctx, n)
	return created, text, err
}

// Roller stores the successors of keys.
type Roller interface {
	KeyByID(ctx context.Context, id uuid.UUID) (access.Key, error)
	RollKey(
		ctx context.Context, id uuid.UUID, hash [32]byte, display, createdBy string, grace time.Duration,
	) (access.Key, error)
}

// Roll creates a successor of a key with a new text. The old key stays valid for grace.
func Roll(
	ctx context.Context, store Roller, id uuid.UUID, createdBy string, grace time.Duration,
) (access.Key, apikey.Key, error) {
	old, err := store.KeyByID(ctx, id)
	if err != nil {
		return access.Key{}, apikey.Key{}, err
	}
	text := apikey.Generate(old.Mode)
	successor, err := store.RollKey(ctx, id, text.Hash(), text.Display(), createdBy, grace)
	return successor, text, err
}
