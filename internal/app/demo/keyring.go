package demo

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// keyring holds the demo's key and makes the next one in time: a demo may run
// for longer than a key lives, and a key may be revoked under it.
type keyring struct {
	mint func(ctx context.Context) (key string, expires time.Time, err error)
	use  func(key string) // told each new key

	mu      sync.Mutex
	key     string
	made    time.Time
	expires time.Time // zero: never
}

// renew makes a key in place of stale, unless another goroutine just did.
func (k *keyring) renew(ctx context.Context, stale string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != stale {
		return nil
	}
	key, expires, err := k.mint(ctx)
	if err != nil {
		return fmt.Errorf("making a key for the demo: %w", err)
	}
	k.key, k.made, k.expires = key, time.Now(), expires
	k.use(key)
	return nil
}

// current returns the key, until when it lives, and whether it is due: nine
// tenths of its life are over.
func (k *keyring) current(now time.Time) (key string, expires time.Time, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	life := k.expires.Sub(k.made)
	return k.key, k.expires, !k.expires.IsZero() && now.After(k.made.Add(life/10*9))
}
