package livedata

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// The paths to which clients of InfluxDB write: of its version 2, and of version 1.
const (
	influxWritePath   = "/api/v2/write"
	influxV1WritePath = "/write"
)

// influxRoutes are those for Telegraf and the clients of InfluxDB.
func (a *api) influxRoutes() []route.Route {
	write := func(path string, d *route.Dialect) route.Route {
		d.Errors = influxError
		return route.Route{
			Method: http.MethodPost, Pattern: path, Scopes: []request.Scope{request.WriteLiveData}, Handle: a.influxWrite,
			Dialect: d, Work: route.WritesPoints, Room: a.Bodies.Room,
		}
	}
	return []route.Route{
		write(influxWritePath, &route.Dialect{Key: tokenKey, Workspace: workspaceIn("bucket")}),
		write(influxV1WritePath, &route.Dialect{Key: passwordKey, Workspace: workspaceIn("db")}),
	}
}

// tokenKey returns the key of the schemes Token, which is InfluxDB's, and Bearer.
func tokenKey(authorization string) (text string, ok bool) {
	scheme, text, _ := strings.Cut(authorization, " ")
	return strings.TrimLeft(text, " "), strings.EqualFold(scheme, "Token") || strings.EqualFold(scheme, "Bearer")
}

// passwordKey does the same for InfluxDB's version 1: the key is the password, of
// scheme Basic or as in "Token user:password". The user's name means nothing.
func passwordKey(authorization string) (text string, ok bool) {
	scheme, text, _ := strings.Cut(authorization, " ")
	if strings.EqualFold(scheme, "Basic") {
		plain, err := base64.StdEncoding.DecodeString(strings.TrimLeft(text, " "))
		_, text, ok = strings.Cut(string(plain), ":")
		return text, ok && err == nil
	}
	if text, ok = tokenKey(authorization); ok && strings.EqualFold(scheme, "Token") {
		text = text[strings.LastIndexByte(text, ':')+1:]
	}
	return text, ok
}

// workspaceIn reads the workspace that a parameter names by its id. By its name it
// is not found: names need not be unique.
func workspaceIn(parameter string) func(r *http.Request) (string, uuid.UUID) {
	return func(r *http.Request) (string, uuid.UUID) {
		id, _ := request.ParseUUID(r.URL.Query().Get(parameter))
		return parameter, id
	}
}

// influxCodes are InfluxDB's names for the statuses of errors. Where it has none
// the clients take any.
var influxCodes = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "not found", http.StatusMethodNotAllowed: "method not allowed", http.StatusConflict: "conflict",
	http.StatusRequestEntityTooLarge: "request too large", http.StatusUnsupportedMediaType: "invalid",
	http.StatusTooManyRequests: "too many requests", http.StatusInternalServerError: "internal error",
	http.StatusBadGateway: "unavailable", http.StatusServiceUnavailable: "unavailable",
	http.StatusGatewayTimeout: "unavailable",
}

// influxError returns an error with the status that its clients go by: they do not send
// again what is 400, and know no 422.
func influxError(status int) (theirs int, code string) {
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	return status, influxCodes[status]
}

// influxWrite takes lines. It answers as InfluxDB does: 204 when the log has all of
// them, 400 when some were rejected, while the others are in the log all the same.
func (a *api) influxWrite(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	precision, err := influxPrecision(r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, a.MaxBodyBytes, request.AnyType(), request.Within(a.Bodies))
	if err != nil {
		return err
	}
	defer release()
	asked := ingestParams{format: ingest.Lines, precision: precision}
	result, made, err := a.acceptPoints(r.Context(), asked, body, received)
	switch {
	case err != nil:
		return tellLine(err)
	case result.Rejected > 0:
		return partialWrite(&result).With("checkpoint", made)
	}
	reply.NoContent(w)
	return nil
}

// influxPrecision reads the parameters that mean something. Others are ignored, as
// the clients send what Livegraph has not: org, rp, consistency.
func influxPrecision(r *http.Request) (string, error) {
	q := r.URL.Query()
	if q.Has("p") {
		return "", fault.Field(
			fault.Malformed, "p", "is not taken: a key in a URL ends up in logs; send it in the header Authorization",
		)
	}
	precision, allowed := q.Get("precision"), ingest.LinePrecisions()
	if precision != "" && !slices.Contains(allowed, precision) {
		return "", fault.Field(fault.Malformed, "precision", "is not one of the allowed values", allowed...)
	}
	return precision, nil
}

// tellLine puts the first rejection into the message of a refusal, which is all
// that the clients show.
func tellLine(err error) error {
	var refusal *fault.Error
	if !errors.As(err, &refusal) {
		return err
	}
	if rejections, ok := refusal.Details["errors"].([]ingest.Rejection); ok && len(rejections) > 0 {
		refusal.Message += ": " + describeRejection(&rejections[0])
	}
	return err
}

func describeRejection(r *ingest.Rejection) string {
	text := r.Field + ": " + r.Reason
	if r.Line != nil {
		return fmt.Sprintf("line %d: %s", *r.Line, text)
	}
	return text
}

// partialWrite reports what was rejected of a request whose other points are stored:
// its clients show the message alone.
func partialWrite(result *ingest.Result) *fault.Error {
	first := &result.Errors[0]
	return fault.Newf(
		fault.Malformed, "partial write: %s; %s stored, %d not", describeRejection(first),
		plural.CountOf(result.Accepted, "point is", "points are"), result.Rejected,
	).
		With("field", first.Field).With("reason", first.Reason).
		With("accepted", result.Accepted).With("rejected", result.Rejected).With("errors", result.Errors)
}
