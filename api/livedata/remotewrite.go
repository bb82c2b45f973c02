package livedata

import (
	"errors"
	"mime"
	"net/http"
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
	remoteWriteMessage = "prometheus.WriteRequest" // of version 1.0
	remoteWriteVersion = "X-Prometheus-Remote-Write-Version"
)

// remoteWrite accepts the remote write protocol 1.0 of Prometheus and responds as its
// specification requires: 204 on success; 400 when any sample was rejected, although the
// others are stored, because Prometheus must not retry; 5xx and 429 when it should retry.
// Query parameters, which Prometheus copies from its configuration, are ignored.
func (a *api) remoteWrite(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	if err := checkRemoteWrite(r.Header); err != nil {
		return err
	}
	body, release, err := request.Body(
		w, r, a.MaxBodyBytes, request.Types(remoteWriteType), request.DefaultEncoding("snappy"), request.WithBudget(a.Bodies),
	)
	if err != nil {
		return err
	}
	defer release()
	result, token, err := a.acceptPoints(r.Context(), ingestParams{format: ingest.RemoteWrite}, body, received)
	switch {
	case err != nil:
		return asBadRequest(err)
	case result.Rejected > 0:
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

// checkRemoteWrite refuses headers that declare a body that is not of version 1.
func checkRemoteWrite(h http.Header) error {
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if message, given := params["proto"]; err == nil && given && message != remoteWriteMessage {
		return fault.Field(fault.UnsupportedMedia, "Content-Type",
			"is another message than that of Prometheus' remote write 1.0", ingest.RemoteWriteTypes()...)
	}
	if strings.HasPrefix(h.Get(remoteWriteVersion), "2.") {
		return fault.Field(fault.UnsupportedMedia, remoteWriteVersion, "is a version that is not taken", "0.1.0", "1.0")
	}
	return nil
}
