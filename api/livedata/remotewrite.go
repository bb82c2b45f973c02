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

// remoteWritePath is where a Prometheus expects to write.
const remoteWritePath = "/api/v1/write"

const (
	remoteWriteType    = "application/x-protobuf"
	remoteWriteMessage = "prometheus.WriteRequest" // that of version 1.0
	remoteWriteVersion = "X-Prometheus-Remote-Write-Version"
)

// remoteWrite takes the remote write 1.0 of Prometheus and answers as its
// specification wants: 204; 400 when any sample was rejected, though the others
// are kept, because Prometheus must not send them again; 5xx and 429 when it is
// to try again. Query parameters, which Prometheus passes on from its own
// configuration, have no meaning.
func (a *api) remoteWrite(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	if err := checkRemoteWrite(r.Header); err != nil {
		return err
	}
	body, release, err := request.Body(
		w, r, a.MaxBodyBytes, request.Types(remoteWriteType), request.EncodedBy("snappy"), request.Within(a.Bodies),
	)
	if err != nil {
		return err
	}
	defer release()
	result, made, err := a.acceptPoints(r.Context(), ingestParams{format: ingest.RemoteWrite}, body, received)
	switch {
	case err != nil:
		return asBadRequest(err)
	case result.Rejected > 0:
		return partialWrite(&result).With("checkpoint", made)
	}
	reply.NoContent(w)
	return nil
}

// asBadRequest makes of values that break a rule a bad request, as the
// specification of remote write wants it.
func asBadRequest(err error) error {
	var failure *fault.Error
	if errors.As(err, &failure) && failure.Kind == fault.Invalid {
		failure.Kind = fault.Malformed
	}
	return err
}

// checkRemoteWrite refuses headers that say that the body is not of version 1.
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
