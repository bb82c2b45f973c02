package ingest

import "testing"

// FuzzParseJSON checks that the pipeline accepts and refuses the same bodies as the reference,
// which uses another JSON parser, that it writes the same points, and that it does not panic.
func FuzzParseJSON(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"points":[]}`, "\ufeff{}", `{"points":[{"value":null}]}`,
		row(`"timestamp":1795246808000,"value":21.5,"tags":{"a":"1","b":"2"}`),
		row(`"timestamp":"2026-11-21T07:40:08.29Z","value":"on \u00e9\ud83d\ude00"`),
		row(`"value":1e400`), row(`"value":"\ud800"`), row(`"value":-0,"timestamp":-1`),
		col(`"timestamps":[1,"2026-11-21T07:40:08Z",3],"values":[1,"x",true]`),
		`{"precision":"s",` +
			someSource + `,"metric":"m","tags":{"a":"1"},"points":[{"value":1},{"metric":"k","tags":{"a":"2"},"value":2}]}`,
		`{"series":[{"timestamps":[1],"values":[1]}],"precision":"ns","source":"pump","metric":"m"}`,
		`{` + someSource + `,"metric":"m","points":[{"tags":{"a":"1","b":"2"},"value":1},` +
			`{"tags":{"b":"2","\u0061":"1"},"value":2},{"tags":{"a":"1","b":"2"},"value":3}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireAgreement(t, body) })
}
