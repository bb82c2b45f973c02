package idempotency

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Answer is a response: data with a status, or an error.
type Answer struct {
	Status   int
	Location string // of what was created; may be empty
	Data     any
	Err      error
}

// Send writes the response, or returns its error.
func (a *Answer) Send(w http.ResponseWriter, r *http.Request) error {
	if a.Err != nil {
		return a.Err
	}
	if a.Location != "" {
		w.Header().Set("Location", a.Location)
	}
	if a.Status == http.StatusNoContent {
		reply.NoContent(w)
		return nil
	}
	reply.Data(w, r, a.Status, a.Data)
	return nil
}

// stored is the stored form of an Answer.
type stored struct {
	Status   int                       `json:"status,omitzero"`
	Location string                    `json:"location,omitzero"`
	Data     jsontext.Value            `json:"data,omitzero"`
	Kind     string                    `json:"kind,omitzero"` // of the error
	Message  string                    `json:"message,omitzero"`
	Details  map[string]jsontext.Value `json:"details,omitzero"`
}

// Encode encodes an answer for the store.
func (a *Answer) Encode() ([]byte, error) {
	s := stored{Status: a.Status, Location: a.Location}
	var err error
	if a.Err == nil {
		s.Data, err = json.Marshal(a.Data)
	} else {
		err = s.setError(reply.Public(a.Err))
	}
	if err != nil {
		return nil, fmt.Errorf("keeping an answer: %w", err)
	}
	return json.Marshal(s)
}

func (s *stored) setError(e *fault.Error) error {
	s.Kind, s.Message, s.Details = e.Kind.String(), e.Message, map[string]jsontext.Value{}
	for name, detail := range e.Details {
		value, err := json.Marshal(detail)
		if err != nil {
			return err
		}
		s.Details[name] = value
	}
	return nil
}

// decode decodes a stored answer.
func decode(encoded []byte) (*Answer, error) {
	var s stored
	if err := json.Unmarshal(encoded, &s); err != nil {
		return nil, fmt.Errorf("reading an answer that was kept: %w", err)
	}
	if s.Kind == "" {
		return &Answer{Status: s.Status, Location: s.Location, Data: s.Data}, nil
	}
	kind, _ := fault.ParseKind(s.Kind)
	refusal := fault.New(kind, s.Message)
	for name, detail := range s.Details {
		_ = refusal.With(name, detail)
	}
	return &Answer{Err: refusal}, nil
}
