// Package chat requests texts from a chat model behind an OpenAI-compatible API. Everything that such a server may send
// is bounded: lines, events, texts, time and silence.
package chat

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
)

const (
	eventStream = "text/event-stream"
	// maxTokenBytes is the maximum average length of a token in bytes. Usual ones have four.
	maxTokenBytes = 32
	// maxWait is the maximum delay between two attempts. A request waits for the text.
	maxWait = 2 * time.Second
)

// Options are the options of [New].
type Options struct {
	URL   string // base, such as https://api.openai.com/v1; no user, no query
	Key   string // sent as a bearer token; empty: none is sent
	Model string // the name in the API

	AllowPrivateAddresses bool // see openai.Options

	Timeout     time.Duration     // of a text, with retries
	IdleTimeout time.Duration     // without an event, also before the first
	MaxTokens   int               // length of a text
	Concurrency int               // maximum of texts that are written at the same time; one workspace has half of them
	Retries     int               // attempts after the first, before the first part of a text
	TLS         *tlsconfig.Client // verifies the server; nil: with the system's certificates
}

// Client is a client of a chat model, with a circuit breaker. The caller must close it. It is safe for concurrent use.
type Client struct {
	options Options
	client  *openai.Client
	gate    *openai.Gate
	// reasons reports that the model accepts only the parameters of models that reason.
	reasons atomic.Bool
}

// New creates a client, without connecting. The error is an Invalid fault if the URL cannot be used.
func New(o Options) (*Client, error) {
	const name = "the chat model"
	client, err := openai.New(openai.Options{
		Name: name, Setting: "chat", URL: o.URL, Key: o.Key, AllowPrivateAddresses: o.AllowPrivateAddresses,
		TLS: o.TLS,
	})
	if err != nil {
		return nil, err
	}
	return &Client{options: o, client: client, gate: openai.NewGate(name, o.Concurrency)}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.client.Close() }

// Model returns the name of the model.
func (c *Client) Model() string { return c.options.Model }

// Ping requests the list of models, which is free of charge.
func (c *Client) Ping(ctx context.Context) error { return c.client.Ping(ctx) }

// String returns the model for logs, without the key.
func (c *Client) String() string { return fmt.Sprintf("%s at %s", c.options.Model, c.client.Address()) }

// Completion is a text by the model.
type Completion struct {
	Text string
	// Truncated reports that the text ended because it has the maximum length.
	Truncated bool
}

// Complete requests the text that follows messages, for a workspace. receive is called with each part of the text as it
// arrives; its error ends the request. Complete retries after a temporary failure, but not after the first part. Its
// errors are faults, except for those of receive and the cause of ctx. The request is cancelled when ctx is done.
func (c *Client) Complete(
	ctx context.Context, workspace uuid.UUID, messages []Message, receive func(part string) error,
) (Completion, error) {
	release, err := c.gate.Enter(ctx, workspace)
	if err != nil {
		return Completion{}, err
	}
	defer release()
	limited, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	var errReceive error
	result, err := c.completeWithRetry(limited, messages, func(part string) error {
		errReceive = receive(part)
		return errReceive
	})
	switch {
	case err != nil && errReceive != nil:
		return Completion{}, errReceive
	case err != nil && ctx.Err() != nil: // the caller cancelled: not a failure of the model
		return Completion{}, context.Cause(ctx)
	}
	if err := c.gate.Record(limited, err); err != nil {
		return Completion{}, err
	}
	return result, nil
}

// attempt is the result of one request.
type attempt struct {
	Completion
	err error // after the first part, when it is too late for a retry
}

func (c *Client) completeWithRetry(
	ctx context.Context, messages []Message, receive func(part string) error,
) (Completion, error) {
	retries := openai.Retries{Max: c.options.Retries, MaxWait: maxWait}
	result, err := openai.Retry(ctx, c.client, retries, func() (attempt, error) {
		begun := false
		done, err := c.completeOnce(ctx, messages, func(part string) error {
			begun = true
			return receive(part)
		})
		if begun {
			return attempt{done, err}, nil
		}
		return attempt{Completion: done}, err
	})
	if err == nil {
		err = result.err
	}
	return result.Completion, err
}

// completeOnce sends a request, and another one if the server does not accept its parameters.
func (c *Client) completeOnce(
	ctx context.Context, messages []Message, receive func(part string) error,
) (Completion, error) {
	reasons := c.reasons.Load()
	result, err := c.send(ctx, messages, reasons, receive)
	var status *openai.StatusError
	if !reasons && errors.As(err, &status) && status.Status == http.StatusBadRequest &&
		(status.Code == "unsupported_parameter" || status.Code == "unsupported_value") {

		if result, err = c.send(ctx, messages, true, receive); err == nil {
			c.reasons.Store(true)
		}
	}
	return result, err
}

// errIdle is the cause of a request that ends because the server sends nothing.
var errIdle = errors.New("the server sends nothing")

// send sends a request and reads its response.
func (c *Client) send(
	ctx context.Context, messages []Message, reasons bool, receive func(part string) error,
) (Completion, error) {
	request := completionRequest{Model: c.options.Model, Messages: messages, Stream: true}
	if reasons {
		request.MaxCompletionTokens = c.options.MaxTokens
	} else {
		request.MaxTokens, request.Temperature = c.options.MaxTokens, new(float64)
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.options.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	failure := func(err error) error {
		var known *fault.Error
		switch {
		case errors.As(err, &known):
			return err
		case ctx.Err() == nil && errors.Is(context.Cause(watched), errIdle):
			return fault.Wrap(errIdle, fault.Timeout, "the chat model did not answer in time")
		}
		return c.client.RequestFault(ctx, err)
	}
	response, err := c.client.Post(watched, "chat/completions", request, eventStream+", application/json")
	if err != nil {
		return Completion{}, failure(err)
	}
	defer func() { _ = response.Body.Close() }()
	t := text{client: c.client, limit: c.options.MaxTokens * maxTokenBytes, receive: receive}
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if mediaType == eventStream {
		err = t.readStream(response.Body, func() { idle.Reset(c.options.IdleTimeout) })
	} else {
		err = t.readWhole(response.Body)
	}
	switch {
	case err != nil:
		return Completion{}, failure(err)
	case strings.TrimSpace(t.content.String()) == "":
		return Completion{}, c.client.InvalidResponse(errors.New("the answer has no text"))
	}
	return Completion{Text: t.content.String(), Truncated: t.finished == finishedByLength}, nil
}
