package livedata

import (
	"net/http"
	"strconv"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/ingest"
)

// formats are the media types that ingest takes, and what they hold.
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

// formatOf returns the format of a request's body by its Content-Type; JSON for a
// type that is none of them, which is refused when the body is read.
func formatOf(r *http.Request) ingest.Format {
	mediaType := request.MediaType(r)
	for _, f := range formats {
		if f.mediaType == mediaType {
			return f.format
		}
	}
	return ingest.JSON
}

// ingestParams are what a request says of its body beside the body itself.
type ingestParams struct {
	format    ingest.Format
	strict    bool
	precision string
}

// readIngest reads them.
func readIngest(r *http.Request) (ingestParams, error) {
	asked := ingestParams{format: formatOf(r)}
	p := request.Query(r)
	asked.strict = p.Bool("strict")
	if asked.format == ingest.Lines {
		asked.precision = p.OneOf("precision", "", ingest.LinePrecisions()...)
	}
	if err := p.Err(); err != nil || asked.format != ingest.RemoteWrite {
		return asked, err
	}
	return asked, checkRemoteWrite(r.Header)
}

// bodyOptions reports how the body of the format is read.
func (a *api) bodyOptions(format ingest.Format) []request.BodyOption {
	options := []request.BodyOption{request.Types(mediaTypes()...), request.Within(a.Bodies)}
	if format == ingest.RemoteWrite {
		options = append(options, request.EncodedBy("snappy")) // as the specification has it, whatever the header
	}
	return options
}

// all returns all that has a meaning, to tell one request from another.
func (a *ingestParams) all(body []byte) [][]byte {
	all := [][]byte{body, strconv.AppendBool(nil, a.strict)}
	if a.format != ingest.JSON {
		all = append(all, []byte(a.format.String()), []byte(a.precision))
	}
	return all
}
