package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// keyring is a transport that adds the demo's key to each request. If the server refuses the key, because it expired
// or was revoked, the keyring creates another one and repeats the request.
type keyring struct {
	create func(ctx context.Context) (string, error)
	next   http.RoundTripper // nil: the default

	mu  sync.Mutex
	key string
}

// RoundTrip sends a request. An error causes the client to wait and to try again.
func (k *keyring) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	key := k.key
	k.mu.Unlock()
	response, err := k.send(r, key)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	_ = response.Body.Close()
	if key, err = k.renew(r.Context(), key); err != nil {
		return nil, err
	}
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	response, err = k.send(r, key)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		_ = response.Body.Close()
		return nil, errors.New("the server refuses a new key")
	}
	return response, err
}

func (k *keyring) send(r *http.Request, key string) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+key)
	return cmp.Or(k.next, http.DefaultTransport).RoundTrip(r)
}

// renew replaces the key if it is still stale, otherwise another goroutine has replaced it. It returns the new key.
func (k *keyring) renew(ctx context.Context, stale string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != stale {
		return k.key, nil
	}
	key, err := k.create(ctx)
	if err != nil {
		return "", fmt.Errorf("making a key for the demo: %w", err)
	}
	k.key = key
	return key, nil
}
