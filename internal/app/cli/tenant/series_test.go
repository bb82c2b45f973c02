package tenant

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/output"
)

func TestSeriesArePrintedAsATable(t *testing.T) {
	var list page[listedSeries]
	require.NoError(t, json.Unmarshal([]byte(`{"data":[
		{"sourceName":"kettle","metric":"temp","kind":"number","unit":"°C","tags":{"b":"2","a":"1"},
			"firstSeen":"2026-11-21T07:40:08Z","lastSeen":"2026-11-21T07:41:08Z","count":3},
		{"sourceName":"pan\u001b","metric":"note","kind":"string","unit":null,"tags":{},"firstSeen":null,"lastSeen":null,
			"count":0}],
		"meta":{"total":5,"nextCursor":"abc"}}`), &list))
	var printed bytes.Buffer
	series := seriesListing()
	require.NoError(t, series.show(&output.Writer{Writer: &printed}, &list))
	require.Equal(t, `SOURCE  METRIC  KIND    POINTS  FIRST                 LAST                  UNIT  TAGS
kettle  temp    number  3       2026-11-21T07:40:08Z  2026-11-21T07:41:08Z  °C    a=1,b=2
pan�    note    string  0       -                     -                     -     -
2 of 5 series; next page: --cursor abc
`, printed.String())
}
