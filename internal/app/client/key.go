package client

import (
	"context"
	"sync"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// key is the key of a client's calls.
type key struct {
	create func(ctx context.Context) (string, error) // nil: the key is never replaced

	mu   sync.Mutex
	text string
}

// SetKey sets the key of all later calls.
func (c *Client) SetKey(text string) {
	c.key.mu.Lock()
	defer c.key.mu.Unlock()
	c.key.text = text
}

// renew returns the key. It creates one if the key is the refused one, or if there is none and refused is "".
func (k *key) renew(ctx context.Context, refused string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.create == nil || k.text != refused {
		return k.text, nil
	}
	text, err := k.create(ctx)
	if err != nil {
		return "", fault.Wrap(err, fault.Unavailable, "A new key cannot be created")
	}
	k.text = text
	return text, nil
}

// once makes a call without retries, but repeats it with a new key if the server refuses the key. That the server
// refuses the new key as well is a transient error, so that keys are created only as often as the call is retried.
func once[T any](ctx context.Context, c *Client, request call) (answer envelope[T], err error) {
	text, err := c.key.renew(ctx, "")
	if err != nil {
		return answer, err
	}
	answer, err = send[T](ctx, c, request, text)
	if c.key.create == nil || !fault.Is(err, fault.Unauthenticated) {
		return answer, err
	}
	if text, err = c.key.renew(ctx, text); err != nil {
		return answer, err
	}
	answer, err = send[T](ctx, c, request, text)
	if fault.Is(err, fault.Unauthenticated) {
		err = fault.Wrap(err, fault.Unavailable, "The server refuses a new key")
	}
	return answer, err
}
