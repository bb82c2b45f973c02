package reply

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// ETag returns the weak entity tag of content. The tag is weak because the same content
// is sent in several encodings and with a new request id each time.
func ETag(content []byte) string {
	return `W/"` + strconv.FormatUint(xxhash.Sum64(content), 36) + `"`
}

// NotModified sets the ETag header. If the request's If-None-Match contains the tag, it
// responds with 304 and returns true.
func NotModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, header := range r.Header.Values("If-None-Match") {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
				w.Header().Del("Content-Type")
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// Resource responds to a GET of one resource with its entity tag: 200, or 304 if the
// client already has the content.
func Resource(w http.ResponseWriter, r *http.Request, data any) {
	if tag, err := TagOf(data); err == nil && NotModified(w, r, tag) {
		return
	}
	Data(w, r, http.StatusOK, data)
}

// ResourceWithState is like Resource for data with a part that changes by itself, such as the result of the last use.
// settings is the other part, which clients change. The entity tag of a response is also that of the state, but Check
// compares only the settings.
func ResourceWithState(w http.ResponseWriter, r *http.Request, data, settings any) {
	if tag, err := tagWithState(data, settings); err == nil && NotModified(w, r, tag) {
		return
	}
	Data(w, r, http.StatusOK, data)
}

// Condition is the condition of the header If-Match or If-None-Match of a change: the change happens only if the client
// knows the current state of the resource, or if there is no such resource. A nil Condition is met by each state.
type Condition struct {
	absent bool // no resource exists; otherwise one of the tags is that of its state
	tags   []string
}

// ConditionOf returns the condition of a change, nil if there is none. The error is Malformed if If-Match is no list of
// entity tags, if If-None-Match is not *, or if the request has both.
func ConditionOf(r *http.Request) (*Condition, error) {
	headers, none := r.Header.Values("If-Match"), r.Header.Values("If-None-Match")
	if len(none) > 0 {
		if strings.TrimSpace(strings.Join(none, ",")) != "*" {
			return nil, fault.Field(fault.Malformed, "If-None-Match", "must be * in a change")
		}
		if len(headers) > 0 {
			return nil, fault.Field(fault.Malformed, "If-None-Match", "must not be combined with If-Match")
		}
		return &Condition{absent: true}, nil
	}
	if len(headers) == 0 {
		return nil, nil
	}
	c := &Condition{}
	for tag := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		tag = strings.TrimSpace(tag)
		if opaque := strings.TrimPrefix(tag, "W/"); tag != "*" && !isQuoted(opaque) {
			return nil, fault.Field(fault.Malformed, "If-Match", "must be * or entity tags in double quotes")
		}
		c.tags = append(c.tags, strings.TrimPrefix(tag, "W/"))
	}
	return c, nil
}

// isQuoted reports whether text is a string in double quotes without others in it.
func isQuoted(text string) bool {
	return len(text) >= 2 && strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) &&
		!strings.Contains(text[1:len(text)-1], `"`)
}

// Check returns a Conflict error unless the current state of the resource meets the condition. data is that of a GET,
// or the settings of ResourceWithState, and nil if there is no such resource. The tags are compared as weak ones,
// because all are: see ETag.
func (c *Condition) Check(data any) error {
	if c == nil || c.absent && data == nil {
		return nil
	}
	if c.absent {
		return fault.New(fault.Conflict, "It exists already").With("field", "If-None-Match").With("reason", "already_exists")
	}
	if data != nil {
		tag, err := TagOf(data)
		if err != nil {
			return err
		}
		tag = strings.TrimPrefix(tag, "W/")
		if slices.ContainsFunc(c.tags, func(known string) bool { return known == "*" || withoutState(known) == tag }) {
			return nil
		}
	}
	return fault.New(fault.Conflict, "Version mismatch").With("field", "If-Match").With("reason", "version_mismatch")
}

// TagOf returns the entity tag that Resource sends with data.
func TagOf(data any) (string, error) {
	content, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("computing an entity tag: %w", err)
	}
	return ETag(content), nil
}

// stateSeparator separates the parts of an entity tag with a state. Other tags do not contain it.
const stateSeparator = "."

// tagWithState returns the entity tag that ResourceWithState sends.
func tagWithState(data, settings any) (string, error) {
	all, err := TagOf(data)
	if err != nil {
		return "", err
	}
	tag, err := TagOf(settings)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(tag, `"`) + stateSeparator + strings.TrimPrefix(all, `W/"`), nil
}

// withoutState returns the entity tag, without W/, of the settings of ResourceWithState.
func withoutState(tag string) string {
	if settings, _, ok := strings.Cut(tag, stateSeparator); ok {
		return settings + `"`
	}
	return tag
}

// ChangedWithState is like Changed for data of ResourceWithState.
func ChangedWithState(w http.ResponseWriter, r *http.Request, status int, data, settings any) {
	if tag, err := tagWithState(data, settings); err == nil {
		w.Header().Set("ETag", tag)
	}
	Data(w, r, status, data)
}

// Changed responds to a change with data, and with the entity tag that a GET of the resource now has. resource is the
// data of that GET.
func Changed(w http.ResponseWriter, r *http.Request, status int, data, resource any) {
	if tag, err := TagOf(resource); err == nil {
		w.Header().Set("ETag", tag)
	}
	Data(w, r, status, data)
}
