package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/kafkatest"
)

const (
	workspaceA, workspaceB = "0198c0de-0000-7000-8000-00000000000a", "0198c0de-0000-7000-8000-00000000000b"
	source                 = "0198c0de-0000-7000-8000-000000000001"
	secondUS               = 1_000_000
)

// block returns a record with a number and a text of the source at a second.
func block(t *testing.T, workspace string, second int64, number float64) []byte {
	t.Helper()
	var e pointblock.Encoder
	e.Reset(uuid.MustParse(workspace), 0)
	add := func(kind pointblock.Kind, metric string, write func(pointblock.SeriesRef, *pointblock.Identity) error) {
		id := pointblock.Identity{
			Workspace: uuid.MustParse(workspace), Source: uuid.MustParse(source), Metric: metric, Kind: kind,
			Tags: []pointblock.Tag{{Key: "room", Value: "hall"}},
		}
		fingerprint := id.Fingerprint(&[16]byte{})
		require.NoError(t, write(pointblock.SeriesRef{ID: fingerprint.SeriesID(), Fingerprint: fingerprint}, &id))
	}
	add(pointblock.KindNumber, "m", func(ref pointblock.SeriesRef, id *pointblock.Identity) error {
		return e.AppendNumbers(ref, id, []int64{second * secondUS}, []float64{number})
	})
	add(pointblock.KindString, "state", func(ref pointblock.SeriesRef, id *pointblock.Identity) error {
		return e.AppendStrings(ref, id, []int64{second * secondUS}, []string{"on"})
	})
	return bytes.Clone(e.Bytes())
}

// linesOf returns the lines of the points of a block.
func linesOf(workspace string, second, number, version string) string {
	const line = `{"workspace":"W","source":"` + source + `","metric":"M","tags":{"room":"hall"},` +
		`"time":"1970-01-01T00:00:0SZ","value":V,"version":N}` + "\n"
	fill := func(metric, value string) string {
		return strings.NewReplacer(`"W"`, `"`+workspace+`"`, `"M"`, `"`+metric+`"`, "0SZ", "0"+second+"Z",
			":V,", ":"+value+",", ":N}", ":"+version+"}").Replace(line)
	}
	return fill("m", number) + fill("state", `"on"`)
}

// fixture is a log with one partition.
type fixture struct {
	t      *testing.T
	broker *kafkatest.Broker
	client *kgo.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, broker: kafkatest.NewKFake(t)}
	for _, setting := range f.broker.Settings() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	_, err := f.broker.Admin(t).CreateTopic(t.Context(), 1, 1, nil, "points")
	require.NoError(t, err)
	f.client, err = kgo.NewClient(f.broker.Opts()...)
	require.NoError(t, err)
	t.Cleanup(f.client.Close)
	return f
}

func (f *fixture) produce(value []byte, at time.Time, headers ...kgo.RecordHeader) {
	f.t.Helper()
	require.NoError(f.t, f.client.ProduceSync(f.t.Context(), &kgo.Record{
		Topic: "points", Value: value, Timestamp: at, Headers: headers,
	}).FirstErr())
}

// consume runs a consumer until the end of the log and returns what it prints.
func (f *fixture) consume(args ...string) string {
	f.t.Helper()
	o, err := parse(append(args, "--until-end"))
	require.NoError(f.t, err)
	var printed bytes.Buffer
	out := bufio.NewWriter(&printed)
	require.NoError(f.t, run(f.t.Context(), o, out))
	require.NoError(f.t, out.Flush())
	return printed.String()
}

func TestAConsumerPrintsEachRecordOnce(t *testing.T) {
	f := newFixture(t)
	early, late := time.UnixMilli(1_700_000_000_000), time.UnixMilli(1_700_000_100_000)
	f.produce(block(t, workspaceA, 1, 1.5), early)
	f.produce([]byte("no block of points"), early)
	f.produce(block(t, workspaceB, 2, 2.5), early)
	f.produce(block(t, workspaceA, 3, 3.5), late, kgo.RecordHeader{Key: "lg-version", Value: []byte("281474976710663")})
	first, second := linesOf(workspaceA, "1", "1.5", "0"), linesOf(workspaceB, "2", "2.5", "2")
	third := linesOf(workspaceA, "3", "3.5", "7") // the version of the record that was redriven

	require.Equal(t, first+second+third, f.consume("--group", "all"))
	require.Empty(t, f.consume("--group", "all"), "the group continues where it was")
	require.Equal(t, second+third, f.consume("--group", "all", "--from-offset", "2"))
	require.Equal(t, third, f.consume("--group", "all", "--from-time", late.UTC().Format(time.RFC3339)))
	require.Equal(t, first+third, f.consume("--group", "other", "--workspace", strings.ToUpper(workspaceA)))
	f.produce(block(t, workspaceA, 4, 4.5), late)
	require.Equal(t, linesOf(workspaceA, "4", "4.5", "4"), f.consume("--group", "all"))
}

func TestDeletionsArePrintedAndApplied(t *testing.T) {
	f := newFixture(t)
	for second := range int64(3) {
		f.produce(block(t, workspaceA, second, float64(second)), time.Now())
	}
	id := uuid.MustParse(source)
	f.produce(pointblock.EncodeDeletions(uuid.MustParse(workspaceA), 0, []pointblock.Deletion{{
		Source: id, Metric: "m", HasMetric: true, HasFrom: true, FromUS: secondUS, HasTo: true, ToUS: 2 * secondUS,
	}}), time.Now())
	summary := func(metric, rest string) string {
		return `{"workspace":"` + workspaceA + `","source":"` + source + `","metric":"` + metric + `",` +
			`"tags":{"room":"hall"},` + rest + "}\n"
	}
	require.Equal(t, summary("m", `"count":2,"sum":2,"last":2`)+summary("state", `"count":3,"sum":0,"last":"on"`),
		f.consume("--group", "summary", "--summary"))
	lines := strings.SplitAfter(f.consume("--group", "lines"), "\n")
	require.Len(t, lines, 8)
	deletion := `{"workspace":"` + workspaceA + `","deleted":"` + source + `","metric":"m",` +
		`"from":"1970-01-01T00:00:01Z","to":"1970-01-01T00:00:02Z","wholeSource":false,"wholeWorkspace":false,` +
		`"version":3}` + "\n"
	require.Equal(t, deletion, lines[6])

	f.produce(pointblock.EncodeDeletions(uuid.MustParse(workspaceA), 0, []pointblock.Deletion{{WholeWorkspace: true}}),
		time.Now())
	require.Equal(t, `{"workspace":"`+workspaceA+`","deleted":null,"metric":null,"from":null,"to":null,`+
		`"wholeSource":false,"wholeWorkspace":true,"version":4}`+"\n", f.consume("--group", "lines"))
	require.Empty(t, f.consume("--group", "summary", "--from-offset", "0", "--summary"))
}

func TestOptionsThatAreNotValidAreReported(t *testing.T) {
	t.Setenv("LIVEGRAPH_KAFKA_BROKERS", "")
	_, err := parse(nil)
	require.ErrorContains(t, err, "--brokers is missing: `livegraph topics` shows the address of Kafka")
	_, err = parse([]string{"--brokers", "b:1", "--from-time", "yesterday"})
	require.ErrorContains(t, err, `invalid value "yesterday" for flag -from-time`)
	require.Equal(t, 1, consume([]string{"--from-offset", "first"}))
	require.Zero(t, consume([]string{"--help"}))
	t.Setenv("LIVEGRAPH_KAFKA_BROKERS", "b:1,c:2")
	o, err := parse(nil)
	require.NoError(t, err)
	require.Equal(t, options{brokers: "b:1,c:2", topic: "points", group: "example-go", fromOffset: -1}, o)
}

func TestTheLoginIsReadFromTheEnvironment(t *testing.T) {
	for _, c := range []struct{ user, mechanism, want string }{
		{"", "scram-sha-512", ""}, {"u", "", "SCRAM-SHA-256"}, {"u", "SCRAM-SHA-512", "SCRAM-SHA-512"},
	} {
		t.Setenv("LIVEGRAPH_KAFKA_SASL_USERNAME", c.user)
		t.Setenv("LIVEGRAPH_KAFKA_SASL_MECHANISM", c.mechanism)
		name := ""
		for _, mechanism := range login() {
			name = mechanism.Name()
		}
		require.Equal(t, c.want, name)
	}
}
