package livedata

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/ingest"
)

// OTLPPath is the path to which exporters of OpenTelemetry send metrics.
const OTLPPath = "/v1/metrics"

const (
	otlpType     = "application/x-protobuf"
	otlpJSONType = "application/json"
	// checkpointHeader is the header of a response without an envelope that has the checkpoint.
	checkpointHeader = "X-Livegraph-Checkpoint"
	// maxOTLPReasons is the maximum number of reasons in the message of a partial success.
	maxOTLPReasons = 5
)

// otlpRoute returns the route for metrics of OpenTelemetry (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
func (a *api) otlpRoute() route.Route {
	return route.Route{
		Method: http.MethodPost, Pattern: OTLPPath, Scopes: []request.Scope{request.WriteLiveData}, Handle: a.otlp,
		Dialect: &route.Dialect{Errors: reply.Dialect{Convert: otlpError, Encode: encodeOTLPError}},
		Work:    route.WritesPoints, CheckCapacity: a.Bodies.CheckCapacity,
	}
}

// otlp accepts metrics and responds as the protocol requires: 200 if all or some data points are in the log, with the
// number of the others, which the client must not send again; 400 if none is; 429, 502, 503 and 504 if it should retry.
func (a *api) otlp(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	options := []request.BodyOption{request.Types(otlpType, otlpJSONType), request.WithBudget(a.Bodies)}
	format := ingest.OTLP
	if isOTLPJSON(r) {
		format = ingest.OTLPJSON
	} else {
		options = append(options, request.AllowEmpty()) // a message without fields has no bytes
	}
	body, release, err := request.Body(w, r, a.MaxBodyBytes, options...)
	if err != nil {
		return err
	}
	defer release()
	result, token, err := a.acceptPoints(r.Context(), ingestParams{format: format}, body, received)
	if err != nil {
		return withFirstRejection(err)
	}
	if len(result.Positions) > 0 {
		w.Header().Set(checkpointHeader, token)
	}
	mediaType, answer := otlpAnswer(&result, format)
	reply.Raw(w, http.StatusOK, mediaType, answer)
	return nil
}

func isOTLPJSON(r *http.Request) bool { return request.MediaType(r) == otlpJSONType }

// otlpAnswer returns the ExportMetricsServiceResponse for a result, in the request's format.
func otlpAnswer(result *ingest.Result, format ingest.Format) (mediaType string, body []byte) {
	// A histogram is rejected as a whole, except for limits that only some of its series exceed.
	rejected := min(result.Rejected, result.DataPoints)
	message := ""
	if rejected > 0 {
		message = describeOTLPRejections(result)
	}
	if format == ingest.OTLPJSON {
		if rejected == 0 {
			return otlpJSONType, []byte("{}")
		}
		body, _ = json.Marshal(map[string]any{"partialSuccess": map[string]string{ // strings can be encoded
			"rejectedDataPoints": strconv.Itoa(rejected), "errorMessage": message,
		}})
		return otlpJSONType, body
	}
	if rejected > 0 {
		partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(rejected))
		partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), message)
		body = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	}
	return otlpType, body
}

// describeOTLPRejections returns the message of a partial success.
func describeOTLPRejections(result *ingest.Result) string {
	var parts []string
	for i := range result.Errors {
		if i == maxOTLPReasons {
			parts = append(parts, "and for other reasons")
			break
		}
		e := &result.Errors[i]
		part := describeRejection(e)
		if e.Count > 1 {
			part += fmt.Sprintf(" (and %d more)", e.Count-1)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// otlpCodes are the codes of gRPC by HTTP status. Clients of OTLP over gRPC retry the same errors as those over HTTP:
// ResourceExhausted with a time to wait, Unavailable and DeadlineExceeded.
var otlpCodes = map[int]codes.Code{
	http.StatusUnauthorized: codes.Unauthenticated, http.StatusForbidden: codes.PermissionDenied,
	http.StatusNotFound: codes.NotFound, http.StatusMethodNotAllowed: codes.Unimplemented,
	http.StatusTooManyRequests: codes.ResourceExhausted, http.StatusInternalServerError: codes.Internal,
	http.StatusBadGateway: codes.Unavailable, http.StatusServiceUnavailable: codes.Unavailable,
	http.StatusGatewayTimeout: codes.DeadlineExceeded,
}

// otlpError returns the status and code for clients of OpenTelemetry, which expect 400 for invalid data.
func otlpError(status int) (otlpStatus int, code any) {
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	if code, ok := otlpCodes[status]; ok {
		return status, int(code)
	}
	return status, int(codes.InvalidArgument)
}

// encodeOTLPError encodes an error as a google.rpc.Status, unless the request was in JSON. In JSON, the fields of
// Status are next to those of the envelope.
func encodeOTLPError(r *http.Request, e *reply.DialectError) (mediaType string, body []byte) {
	if request.MediaType(r) != otlpType {
		return "", nil
	}
	code, _ := e.Code.(int)
	status := &rpcstatus.Status{Code: int32(code), Message: e.Message}
	var details []proto.Message
	if e.Field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: e.Field, Description: e.Reason},
		}})
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	for _, detail := range details {
		if encoded, err := anypb.New(detail); err == nil {
			status.Details = append(status.Details, encoded)
		}
	}
	body, err := proto.Marshal(status)
	if err != nil {
		return "", nil
	}
	return otlpType, body
}
