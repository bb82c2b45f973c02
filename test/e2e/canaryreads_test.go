package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval/files"
	"github.com/livegraph/livegraph/test/documentfiles"
)

const (
	opDocuments = "POST /api/documents"
	opPromRead  = "POST /prometheus/api/v1/read"
	asForm      = "application/x-www-form-urlencoded"
)

// writeDocumentCanaries creates a document, and tries to create one of an unknown type.
func (w *tenants) writeDocumentCanaries() {
	w.t.Helper()
	c := w.canary
	w.values["documentTag"] = c("document's tag")
	document := object{
		"externalId": c("external id"), "title": c("title"), "text": c("document's text"),
		"sourceUrl": "https://x/" + c("source's URL"), "tags": []any{w.values["documentTag"]},
	}
	write := func(status int) []byte {
		return w.writeJSON(opDocuments, "/api/documents", object{"documents": []any{document}}, status)
	}
	created := string(write(http.StatusAccepted))
	for id := range w.ids {
		if strings.Contains(created, `"id":"`+id+`"`) {
			w.values["document"] = id
		}
	}
	require.NotEmpty(w.t, w.values["document"], created)
	document["contentType"] = "x/" + c("content type")
	write(http.StatusUnprocessableEntity)
	delete(document, "text")
	document["externalId"], document["data"] = c("file's external id"), c("no base64")
	write(http.StatusUnprocessableEntity)
	document["contentType"] = files.DOCX
	document["data"] = base64.StdEncoding.EncodeToString(documentfiles.Word(w.t, c("text of a file")))
	write(http.StatusAccepted)
}

// promForms returns the parameters of the operations of PromQL, by operation, for a selector.
func promForms(selector string) map[string]string {
	now := time.Now().Unix() + 1 // rounded up, because the points may be of this second
	at := func(s int64) []string { return []string{strconv.FormatInt(s, 10)} }
	forms := map[string]string{}
	for name, parameters := range map[string]url.Values{
		"query":           {"query": {selector}, "time": at(now)},
		"query_range":     {"query": {selector}, "start": at(now - 60), "end": at(now), "step": {"10"}},
		"series":          {"match[]": {selector}},
		"labels":          {"match[]": {selector}},
		"format_query":    {"query": {selector}},
		"query_exemplars": {"query": {selector}},
	} {
		forms["POST /prometheus/api/v1/"+name] = parameters.Encode()
	}
	return forms
}

// promRead returns a remote read of a metric.
func (w *tenants) promRead(metric string) call {
	w.t.Helper()
	body, err := (&prompb.ReadRequest{Queries: []*prompb.Query{{
		StartTimestampMs: time.Now().Add(-time.Minute).UnixMilli(), EndTimestampMs: time.Now().UnixMilli(),
		Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_EQ, Name: "__name__", Value: metric}},
	}}}).Marshal()
	require.NoError(w.t, err)
	return call{
		op: opPromRead, path: "/prometheus/api/v1/read", contentType: "application/x-protobuf",
		header: map[string]string{"Content-Encoding": "snappy"}, body: string(snappy.Encode(nil, body)),
	}
}

// promCalls returns requests for a metric to the operations of PromQL that have a body.
func (w *tenants) promCalls(metric string) map[string][]call {
	w.t.Helper()
	read := w.promRead(metric)
	read.path = "" // appended to the operation's
	calls := map[string][]call{opPromRead: {read}}
	for op, form := range promForms(fmt.Sprintf(`{__name__=%q}`, metric)) {
		calls[op] = []call{{contentType: asForm, body: form}}
	}
	return calls
}

// writePromCanaries queries by canaries.
func (w *tenants) writePromCanaries() {
	w.t.Helper()
	for op, form := range promForms(fmt.Sprintf(`{__name__=%q}`, w.canary("selected metric"))) {
		w.write(op, strings.TrimPrefix(op, "POST "), asForm, form, nil, http.StatusOK)
	}
	read := w.promRead(w.canary("read metric"))
	answer := w.send(w.firstKey.Key, w.firstKey.workspace, read)
	require.Equal(w.t, http.StatusOK, answer.status, "%s", answer.body)
	w.written[opPromRead+" "+read.contentType] = true
}
