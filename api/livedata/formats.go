package livedata

import (
	"net/http"
	"strconv"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/ingest"
)

// formats lists the media types that ingest accepts, and their formats.
var formats = []struct {
	mediaType string
	format    ingest.Format
}{
	{"application/json", ingest.JSON},
	{"application/x-ndjson", ingest.NDJSON},
	{"text/plain", ingest.Lines},
	{remoteWriteType, ingest.RemoteWrite},
}

func mediaTypes() (types []string) {
	for _, f := range formats {
		types = append(types, f.mediaType)
	}
	return types
}

// formatOf returns the format of a request's body by its Content-Type. For an unknown type it
// returns JSON; the request is refused when the body is read.
func formatOf(r *http.Request) ingest.Format {
	mediaType := request.MediaType(r)
	for _, f := range formats {
		if f.mediaType == mediaType {
			return f.format
		}
	}
	return ingest.JSON
}

// ingestParams are the parameters of an ingest request.
type ingestParams struct {
	format    ingest.Format
	strict    bool
	precision string
}

// readIngestParams parses the parameters of an ingest request.
func readIngestParams(r *http.Request) (ingestParams, error) {
	params := ingestParams{format: formatOf(r)}
	p := request.Query(r)
	params.strict = p.Bool("strict")
	if params.format == ingest.Lines {
		params.precision = p.OneOf("precision", "", ingest.LinePrecisions()...)
	}
	err := p.Err()
	if err == nil && params.format == ingest.RemoteWrite {
		params.format, err = remoteWriteFormat(r.Header)
	}
	return params, err
}

// bodyOptions returns the options for reading a body of the format.
func (a *api) bodyOptions(format ingest.Format) []request.BodyOption {
	options := []request.BodyOption{request.Types(mediaTypes()...), request.WithBudget(a.Bodies)}
	if format.IsRemoteWrite() {
		options = append(options, request.DefaultEncoding("snappy")) // as the specification requires, whatever the header
	}
	return options
}

// fingerprint returns the body and all parameters that distinguish one request from another.
func (a *ingestParams) fingerprint(body []byte) [][]byte {
	parts := [][]byte{body, strconv.AppendBool(nil, a.strict)}
	if a.format != ingest.JSON {
		parts = append(parts, []byte(a.format.String()), []byte(a.precision))
	}
	return parts
}
