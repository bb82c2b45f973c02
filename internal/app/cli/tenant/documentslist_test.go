package tenant

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/output"
)

func TestDocumentsArePrintedAsATable(t *testing.T) {
	var list page[listedDocument]
	require.NoError(t, json.Unmarshal([]byte(`{"data":[
		{"id":"9c5b94b1-35ad-49bb-b118-8e8fc24abf80","externalId":"wiki/a.md","title":"Pumps\u001b",
			"contentType":"text/markdown","tags":["handbook","north"],"revision":2,"passageCount":0,
			"updatedAt":"2026-11-21T07:40:08Z"},
		{"id":"0b0c2c9e-7a0c-4d0c-9d44-0f4b9a52d4a7","externalId":"b.pdf","title":"Halls","contentType":"application/pdf",
			"tags":[],"revision":1,"passageCount":12,"updatedAt":"2026-11-21T07:41:08Z"}],
		"meta":{"total":3}}`), &list))
	var printed bytes.Buffer
	documents := documentListing()
	require.NoError(t, documents.show(&output.Writer{Writer: &printed}, &list))
	//nolint:lll // the table as it is printed
	require.Equal(t, `EXTERNAL ID  TITLE   TYPE             REVISION  PASSAGES  UPDATED               TAGS            ID
wiki/a.md    Pumps�  text/markdown    2         0         2026-11-21T07:40:08Z  handbook,north  9c5b94b1-35ad-49bb-b118-8e8fc24abf80
b.pdf        Halls   application/pdf  1         12        2026-11-21T07:41:08Z  -               0b0c2c9e-7a0c-4d0c-9d44-0f4b9a52d4a7
2 of 3 documents
`, printed.String())
}
