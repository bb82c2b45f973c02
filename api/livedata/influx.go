package livedata

import (
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

// The write paths of InfluxDB 2 and 1.
const (
	influxWritePath   = "/api/v2/write"
	influxV1WritePath = "/write"
)

// influxRoutes returns the routes for Telegraf and the clients of InfluxDB.
func (a *api) influxRoutes() []route.Route {
	write := func(path string, d *route.Dialect) route.Route {
		d.Errors = reply.Dialect{Convert: influxError}
		return route.Route{
			Method: http.MethodPost, Pattern: path, Scopes: []request.Scope{request.WriteLiveData}, Handle: a.influxWrite,
			Dialect: d, Work: route.WritesPoints, CheckCapacity: a.Bodies.CheckCapacity,
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

// passwordKey returns the key for InfluxDB 1: the key is the password, in scheme Basic or as
// in "Token user:password". The user name is ignored.
func passwordKey(authorization string) (text string, ok bool) {
	scheme, text, _ := strings.Cut(authorization, " ")
	if strings.EqualFold(scheme, "Basic") {
		return request.BasicPassword(text)
	}
	if text, ok = tokenKey(authorization); ok && strings.EqualFold(scheme, "Token") {
		text = text[strings.LastIndexByte(text, ':')+1:]
	}
	return text, ok
}

// workspaceIn returns a function that reads the id of the workspace from a parameter. It does
// not accept names, because they need not be unique.
func workspaceIn(parameter string) func(r *http.Request) (string, uuid.UUID) {
	return func(r *http.Request) (string, uuid.UUID) {
		id, _ := request.ParseUUID(r.URL.Query().Get(parameter))
		return parameter, id
	}
}

// influxCodes are InfluxDB's error codes by HTTP status. For statuses without one the clients
// accept any code.
var influxCodes = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "not found", http.StatusMethodNotAllowed: "method not allowed", http.StatusConflict: "conflict",
	http.StatusRequestEntityTooLarge: "request too large", http.StatusUnsupportedMediaType: "invalid",
	http.StatusTooManyRequests: "too many requests", http.StatusInternalServerError: "internal error",
	http.StatusBadGateway: "unavailable", http.StatusServiceUnavailable: "unavailable",
	http.StatusGatewayTimeout: "unavailable",
}

// influxError returns the status and code for the clients of InfluxDB: they do not retry a
// 400, and do not support 422.
func influxError(status int) (influxStatus int, code any) {
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	return status, influxCodes[status]
}

// influxWrite accepts line protocol. It responds like InfluxDB: 204 when all points are in the
// log, 400 when some were rejected; the others are in the log nevertheless.
func (a *api) influxWrite(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	precision, err := influxPrecision(r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, a.MaxBodyBytes, request.AnyType(), request.WithBudget(a.Bodies))
	if err != nil {
		return err
	}
	defer release()
	params := ingestParams{format: ingest.Lines, precision: precision}
	result, token, err := a.acceptPoints(r.Context(), params, body, received)
	switch {
	case err != nil:
		return withFirstRejection(err)
	case result.Rejected > 0:
		return partialWrite(&result).With("checkpoint", token)
	}
	reply.NoContent(w)
	return nil
}

// influxPrecision parses the parameter precision. Other parameters are ignored, because the
// clients send some that Livegraph does not have: org, rp, consistency.
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

// withFirstRejection appends the first rejection to the message of a refusal, because the
// clients show only the message.
func withFirstRejection(err error) error {
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

// partialWrite returns the error for a request of which some points were rejected and the
// others are stored. The message contains the first rejection, because the clients show only
// the message.
func partialWrite(result *ingest.Result) *fault.Error {
	first := &result.Errors[0]
	return fault.Newf(
		fault.Malformed, "partial write: %s; %s stored, %d not", describeRejection(first),
		plural.CountOf(result.Accepted, "point is", "points are"), result.Rejected,
	).
		With("field", first.Field).With("reason", first.Reason).
		With("accepted", result.Accepted).With("rejected", result.Rejected).With("errors", result.Errors)
}
