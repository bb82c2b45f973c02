package reply

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json"
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
	if content, err := json.Marshal(data, json.Deterministic(true)); err == nil && NotModified(w, r, ETag(content)) {
		return
	}
	Data(w, r, http.StatusOK, data)
}
