package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Waits between two attempts.
const (
	firstWait = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// Options say which API to ask, and for what.
type Options struct {
	URL   string // base, such as https://api.openai.com/v1; no user, no query
	Key   string // sent as a bearer token; empty: none is
	Model Model  // what the API calls it, and how long its vectors are

	// AllowPrivateAddresses lets the URL lead to this machine or into a private
	// network. Without it each connection is checked by the address that is dialled,
	// so that no name can be pointed there.
	AllowPrivateAddresses bool

	Batch   int               // most texts in a request
	Timeout time.Duration     // of one request
	Retries int               // attempts after the first
	TLS     *tlsconfig.Client // verifies the server; nil: as the system does
}

// Remote asks an OpenAI-compatible API. It holds connections: Close it.
type Remote struct {
	options Options
	client  *http.Client
	base    *url.URL
}

// NewRemote creates the client. It connects to nothing yet; Invalid says that the URL
// cannot be used.
func NewRemote(o Options) (*Remote, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" ||
		base.Scheme != "http" && base.Scheme != "https" {

		return nil, fault.New(fault.Invalid, "the embedder's URL cannot be used") // it may hold a secret: not shown
	}
	if o.TLS == nil {
		o.TLS = tlsconfig.System()
	}
	o.Batch = max(o.Batch, 1)
	return &Remote{options: o, base: base, client: &http.Client{
		Transport: transport(o),
		// Following one would carry the texts, and the key, to who knows where.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close lets go of idle connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// Model reports what the vectors are of.
func (r *Remote) Model() Model { return r.options.Model }

// Embed asks for the vectors of the texts, a batch after the other. A blank text has
// no vector, and is not sent. A failure for a passing reason is tried again within
// bounds, and as long as ctx allows.
func (r *Remote) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	vectors := make([]Vector, len(texts))
	var batch []string
	var places []int // of the batch's texts
	for i, text := range texts {
		if text = strings.ToValidUTF8(text, "\uFFFD"); strings.TrimSpace(text) != "" {
			batch, places = append(batch, text), append(places, i)
		}
		if len(batch) < r.options.Batch && i < len(texts)-1 || len(batch) == 0 {
			continue
		}
		found, err := r.persist(ctx, batch)
		if err != nil {
			return nil, err
		}
		for j, v := range found {
			vectors[places[j]] = v
		}
		batch, places = batch[:0], places[:0]
	}
	return vectors, nil
}

// persist asks until the API answers, refuses, or has been tried often enough.
func (r *Remote) persist(ctx context.Context, texts []string) ([]Vector, error) {
	waits := retry.New(firstWait, mostWait)
	var last *fault.Error // backoff wraps what it is given
	vectors, err := backoff.Retry(ctx, func() ([]Vector, error) {
		vectors, err := r.ask(ctx, texts)
		var failure *fault.Error
		if err == nil {
			return vectors, nil
		} else if !errors.As(err, &failure) {
			return nil, backoff.Permanent(err) // the caller's time is up
		}
		last = failure
		switch {
		case !passing(failure), failure.RetryAfter > mostWait:
			return nil, backoff.Permanent(err)
		case failure.RetryAfter > 0:
			return nil, &backoff.RetryAfterError{Duration: failure.RetryAfter}
		default:
			return nil, err
		}
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(uint(r.options.Retries)+1), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil:
		return vectors, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, context.Cause(ctx)
	case last != nil: // also when time ran out while waiting: it says more
		return nil, last
	case ctx.Err() != nil:
		return nil, fault.Wrap(context.Cause(ctx), fault.Timeout, "the embedder did not answer in time")
	default:
		return nil, err
	}
}

// passing reports whether asking again may help.
func passing(failure *fault.Error) bool {
	return failure.Kind == fault.Unavailable || failure.Kind == fault.Timeout
}

// ask creates one request.
func (r *Remote) ask(ctx context.Context, texts []string) ([]Vector, error) {
	limited, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	request, err := r.request(limited, http.MethodPost, "embeddings", texts)
	if err != nil {
		return nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, r.unanswered(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response)
	}
	body, err := readAtMost(response.Body, mostBytes(len(texts), r.options.Model.Dimensions))
	if err != nil {
		if errors.Is(err, errTooLong) {
			return nil, nonsense(err)
		}
		return nil, r.unanswered(ctx, err)
	}
	return vectorsOf(body, len(texts), r.options.Model.Dimensions)
}

// unanswered makes the fault of a request that got no answer. Errors of the HTTP
// client name the URL, which holds no secret.
func (r *Remote) unanswered(ctx context.Context, err error) error {
	var private *privateAddress
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &private):
		return fault.Wrap(err, fault.BadGateway, "the embedder's address is a private one, which is not allowed")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "the embedder did not answer in time")
	default:
		return fault.Wrap(err, fault.Unavailable, "the embedder does not answer")
	}
}

// Ping asks for the list of models, which costs nothing. An API that has none is alive
// all the same.
func (r *Remote) Ping(ctx context.Context) error {
	request, err := r.request(ctx, http.MethodGet, "models", nil)
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return r.unanswered(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil
	default:
		return refusal(response)
	}
}

// String is the embedder for logs, without its key.
func (r *Remote) String() string {
	return fmt.Sprintf("%s at %s", r.options.Model, r.base.Redacted())
}
