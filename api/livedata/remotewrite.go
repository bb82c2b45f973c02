package livedata

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// remoteWritePath is the path to which Prometheus writes.
const remoteWritePath = "/api/v1/write"

const (
	remoteWriteType    = "application/x-protobuf"
	remoteWriteVersion = "X-Prometheus-Remote-Write-Version"
)

// The headers of responses to remote write 2.0 that have the numbers of what was written.
const (
	samplesWritten    = "X-Prometheus-Remote-Write-Samples-Written"
	histogramsWritten = "X-Prometheus-Remote-Write-Histograms-Written"
	exemplarsWritten  = "X-Prometheus-Remote-Write-Exemplars-Written"
)

// remoteWrite accepts the remote write protocols 1.0 and 2.0 of Prometheus and responds as their
// specifications require: 204 on success; 400 when any sample was rejected, although the
// others are stored, because Prometheus must not retry; 5xx and 429 when it should retry.
// Query parameters, which Prometheus copies from its configuration, are ignored.
func (a *api) remoteWrite(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	format, err := remoteWriteFormat(r.Header)
	if err != nil {
		return err
	}
	countWritten(w.Header(), format, &ingest.Result{})
	body, release, err := request.Body(
		w, r, a.MaxBodyBytes, request.Types(remoteWriteType), request.DefaultEncoding("snappy"), request.WithBudget(a.Bodies),
	)
	if err != nil {
		return err
	}
	defer release()
	result, token, err := a.acceptPoints(r.Context(), ingestParams{format: format}, body, received)
	if err != nil {
		return asBadRequest(err)
	}
	countWritten(w.Header(), format, &result)
	if result.Rejected > 0 {
		return partialWrite(&result).With("checkpoint", token)
	}
	reply.NoContent(w)
	return nil
}

// asBadRequest converts an Invalid error to a Malformed one, because the specification of
// remote write requires status 400.
func asBadRequest(err error) error {
	var failure *fault.Error
	if errors.As(err, &failure) && failure.Kind == fault.Invalid {
		failure.Kind = fault.Malformed
	}
	return err
}

// countWritten sets the headers of a response to remote write 2.0.
func countWritten(h http.Header, format ingest.Format, result *ingest.Result) {
	if format != ingest.RemoteWrite2 {
		return
	}
	h.Set(samplesWritten, strconv.Itoa(result.Accepted-result.Histograms))
	h.Set(histogramsWritten, strconv.Itoa(result.Histograms))
	h.Set(exemplarsWritten, strconv.Itoa(result.Exemplars))
}

// remoteWriteFormat returns the version that the headers declare.
func remoteWriteFormat(h http.Header) (ingest.Format, error) {
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		params = nil // request.Body refuses it
	}
	format, ok := ingest.RemoteWriteFormat(params["proto"])
	if !ok {
		return 0, fault.Field(fault.UnsupportedMedia, "Content-Type",
			"is another message than those of Prometheus' remote write", ingest.RemoteWriteTypes()...)
	}
	if format == ingest.RemoteWrite && strings.HasPrefix(h.Get(remoteWriteVersion), "2.") {
		return 0, fault.Field(fault.UnsupportedMedia, remoteWriteVersion,
			"must be of the version of the message that Content-Type declares", "0.1.0", "1.0")
	}
	return format, nil
}
