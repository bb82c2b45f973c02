package livegraph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// keyring has the key of a client's requests.
type keyring struct {
	source func(ctx context.Context) (string, error) // nil: the key is never replaced

	mu  sync.Mutex
	key string
}

// set replaces the key. The errors of HTTP libraries about invalid headers could contain it, so it is checked here.
func (k *keyring) set(key string) error {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }) {
		return errors.New("livegraph: the API key is empty or contains characters other than visible ASCII")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key = key
	return nil
}

// renew returns the key. If it is the refused one, or there is none and refused is "", the source is called.
func (k *keyring) renew(ctx context.Context, refused string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.source == nil || k.key != refused {
		return k.key, nil
	}
	key, err := k.source(ctx)
	if err != nil {
		return "", &KeyError{Message: "the key source failed", Err: err}
	}
	k.key = key
	return key, nil
}

// withKey makes an attempt, and repeats it with a new key if the server refuses the key. That it refuses the new key
// as well is a transient error, so that keys are created only as often as the request is repeated.
func withKey[T any](ctx context.Context, t *transport, attempt func(key string) (T, error)) (result T, err error) {
	key, err := t.key.renew(ctx, "")
	if err != nil {
		return result, err
	}
	result, err = attempt(key)
	if t.key.source == nil || !errors.Is(err, ErrUnauthenticated) {
		return result, err
	}
	if key, err = t.key.renew(ctx, key); err != nil {
		return result, err
	}
	result, err = attempt(key)
	if errors.Is(err, ErrUnauthenticated) {
		err = &KeyError{Message: "the server refuses a new key", Err: err}
	}
	return result, err
}

// KeyError is the error of a key source, or of a key of it that the server refuses. The request is sent again later.
type KeyError struct {
	Message string
	Err     error
}

// Error returns the message and the cause.
func (e *KeyError) Error() string { return fmt.Sprintf("%s: %v", e.Message, e.Err) }

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }
