package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retryafter"
)

// maxErrorBytes is the maximum size of the body of an error that is read.
const maxErrorBytes = 16 << 10

// StatusError is the cause of the fault of a response whose status is not 200.
type StatusError struct {
	Status int
	Type   string // of the error; empty: there is none
	Code   string // likewise
}

func (e *StatusError) Error() string {
	parts := []string{"it answered " + strconv.Itoa(e.Status)}
	for _, word := range []string{e.Type, e.Code} {
		if word != "" {
			parts = append(parts, word)
		}
	}
	return strings.Join(parts, " ")
}

// RequestFault returns the fault of a request without a response, or of a body that cannot be read. Errors of the HTTP
// client contain the URL, which has no secret.
func (c *Client) RequestFault(ctx context.Context, err error) error {
	var private *privateAddress
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &private):
		return fault.Wrap(err, fault.BadGateway, c.options.Name+"'s address is a private one, which is not allowed")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, c.options.Name+" did not answer in time")
	default:
		return fault.Wrap(err, fault.Unavailable, c.options.Name+" does not answer")
	}
}

// InvalidResponse returns the fault of a response with a content that cannot be used. The cause must not quote texts.
func (c *Client) InvalidResponse(cause error) error {
	return fault.Wrap(cause, fault.BadGateway, c.options.Name+"'s answer cannot be used")
}

// identifier matches the error codes of APIs. Other parts of an error are dropped, because
// its message may quote a text or the key.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// ErrorWord returns a code or type of an error if it is an identifier, else "".
func ErrorWord(value any) string {
	if word, ok := value.(string); ok && identifier.MatchString(word) {
		return word
	}
	return ""
}

// statusFault returns the fault of a response whose status is not 200.
func (c *Client) statusFault(response *http.Response) error {
	var body struct {
		Error struct {
			Type any `json:"type"`
			Code any `json:"code"`
		} `json:"error"`
	}
	raw, _ := ReadAtMost(response.Body, maxErrorBytes)
	_ = json.Unmarshal(raw, &body)
	cause := &StatusError{
		Status: response.StatusCode, Type: ErrorWord(body.Error.Type), Code: ErrorWord(body.Error.Code),
	}
	failure := func(kind fault.Kind, problem string) *fault.Error {
		return fault.Wrap(cause, kind, c.options.Name+problem)
	}
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests && cause.Code != "insufficient_quota":
		return failure(fault.Unavailable, " is asked too often").After(retryafter.Parse(response.Header))
	case status == http.StatusTooManyRequests:
		return failure(fault.BadGateway, "'s account is used up")
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return failure(fault.Unavailable, " cannot answer at present").After(retryafter.Parse(response.Header))
	case status == http.StatusBadRequest,
		status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return failure(fault.Invalid, " refuses the text")
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return failure(fault.BadGateway, " refuses our key")
	case status == http.StatusNotFound:
		return failure(fault.BadGateway, " has no such model or address")
	default:
		return failure(fault.BadGateway, "'s answer cannot be used")
	}
}

// ErrTooLong is the error of a response that is longer than it may be.
var ErrTooLong = errors.New("the answer is longer than it can be")

// ReadAtMost reads a body. It returns ErrTooLong if the body has more than limit bytes.
func ReadAtMost(body io.Reader, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = ErrTooLong
	}
	return raw, err
}
