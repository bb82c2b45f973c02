package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/livegraph/livegraph/internal/platform/config"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/kafkatest"
)

const examples = "../../docs/consumers"

// consumerPython creates the venv of the Python example as its guide says, once per machine and
// version of its requirements, and returns the path of its interpreter.
var consumerPython = sync.OnceValues(func() (string, error) {
	file := filepath.Join(examples, "python", "requirements.txt")
	requirements, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(requirements)
	dir := filepath.Join(cache, "livegraph", "example-consumer-"+hex.EncodeToString(sum[:6]))
	python, complete := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return python, nil
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{python, "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", file},
	} {
		if printed, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", command, err, printed)
		}
	}
	return python, os.WriteFile(complete, nil, 0o600)
})

// example is one of the example consumers, as a command.
type example struct {
	t       *testing.T
	command []string
	broker  *kafkatest.Broker
	topic   string
}

// exampleLine is a line that an example prints: a point, a deletion, or a series.
type exampleLine struct {
	Workspace, Source, Metric, Time, Deleted string
	Tags                                     map[string]string
	Value, Last                              any
	Version                                  int64
	From, To                                 *string
	WholeSource, WholeWorkspace              bool
	Count                                    int
	Sum                                      float64
}

// run runs the example until it has read everything, and returns the lines that it printed.
func (e *example) run(args ...string) (lines []exampleLine) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 2*time.Minute)
	defer cancel()
	args = append([]string{"--brokers", strings.Join(e.broker.Brokers(), ","), "--topic", e.topic, "--until-end"}, args...)
	command := exec.CommandContext(ctx, e.command[0], append(e.command[1:], args...)...)
	var failures bytes.Buffer
	command.Stderr, command.Env = &failures, append(os.Environ(), e.broker.Settings()...)
	printed, err := command.Output()
	require.NoError(e.t, err, "%s", &failures)
	require.NotContains(e.t, failures.String(), "passed over")
	for text := range strings.Lines(string(printed)) {
		var l exampleLine
		require.NoError(e.t, json.Unmarshal([]byte(text), &l), "%s", text)
		lines = append(lines, l)
	}
	return lines
}

func eachExample(t *testing.T, broker *kafkatest.Broker, test func(t *testing.T, e *example)) {
	t.Helper()
	t.Run("go", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "consumer")
		printed, err := exec.Command("go", "build", "-o", program, examples+"/go").CombinedOutput()
		require.NoError(t, err, "%s", printed)
		test(t, &example{t: t, command: []string{program}, broker: broker, topic: "points"})
	})
	t.Run("python", func(t *testing.T) {
		python, err := consumerPython()
		require.NoError(t, err)
		test(t, &example{
			t: t, command: []string{python, filepath.Join(examples, "python", "consumer.py")}, broker: broker, topic: "points",
		})
	})
}

// produce writes a record to the log in the same way as the server.
func (e *example) produce(source uuid.UUID, value []byte) {
	e.t.Helper()
	client, err := kgo.NewClient(e.broker.Opts()...)
	require.NoError(e.t, err)
	defer client.Close()
	require.NoError(
		e.t, client.ProduceSync(e.t.Context(), &kgo.Record{Topic: e.topic, Key: source[:], Value: value}).FirstErr(),
	)
}

// TestTheExampleConsumersReadTheLog runs the example consumers next to a server; neither affects the
// other.
func TestTheExampleConsumersReadTheLog(t *testing.T) {
	t.Parallel()
	t.Run("embedded Kafka", func(t *testing.T) {
		s := newServer(t)
		s.Start()
		tryExamples(t, s)
	})
	t.Run("Apache Kafka", func(t *testing.T) {
		broker := kafkatest.StoppableApacheKafka(t)
		s := newServer(t)
		s.Env = kafkatest.BrokerAt(broker.Brokers(), config.KafkaSecurity{}).Settings()
		s.Start()
		tryExamples(t, s)
	})
}

func tryExamples(t *testing.T, s *server) {
	t.Helper()
	eachExample(t, s.Kafka(), func(t *testing.T, e *example) {
		s.t = t
		name := filepath.Base(t.Name())
		kept, gone := s.createSource(name+"-kept"), s.createSource(name+"-gone")
		send := func(source, body string) {
			s.Do(
				"POST", "/api/live-data/ingest", json.RawMessage(fmt.Sprintf(`{"sourceId": %q, %s}`, source, body)),
				http.StatusCreated, nil,
			)
		}
		const hundred = `"series": [{"metric": "m", "tags": {"room": "Küche", "a": "1"}, "timestamps": [%s], "values": [%s]}]`
		var times, values []string
		for n := range 100 {
			times, values = append(times, fmt.Sprint(epoch.UnixMilli()+int64(n))), append(values, fmt.Sprint(n))
		}
		all := fmt.Sprintf(hundred, strings.Join(times, ","), strings.Join(values, ","))
		e.run("--group", name+"-before") // skips the records from before the test
		send(kept, all)
		send(kept, all) // a repetition
		send(kept, fmt.Sprintf(hundred, times[7], "1007"))
		send(kept, fmt.Sprintf(`"points": [{"metric": "state", "timestamp": %s, "value": "an \"apple\""}]`, times[0]))
		send(gone, all)
		s.Do("DELETE", "/api/live-data/sources/"+gone, nil, http.StatusNoContent, nil)
		source, us := uuid.MustParse(kept), epoch.UnixMicro()
		e.produce(source, pointblock.EncodeDeletions(uuid.MustParse(s.First.WorkspaceID), us, []pointblock.Deletion{
			{Source: source, Metric: "m", HasMetric: true, FromUS: us + 10_000, HasFrom: true, ToUS: us + 20_000, HasTo: true}}))
		send(kept, fmt.Sprintf(hundred, times[12], "1012"))

		room := map[string]string{"room": "Küche", "a": "1"}
		expected := []exampleLine{
			{
				Workspace: s.First.WorkspaceID, Source: kept, Metric: "m", Tags: room, Count: 91, Sum: 4950 - 145 + 1000 + 1012,
				Last: 99.0,
			},
			{
				Workspace: s.First.WorkspaceID, Source: kept, Metric: "state", Tags: map[string]string{}, Count: 1,
				Last: `an "apple"`,
			},
		}
		ownLines := func(lines []exampleLine) (own []exampleLine) {
			for _, l := range lines {
				if l.Source == kept || l.Source == gone || l.Deleted == kept || l.Deleted == gone {
					own = append(own, l)
				}
			}
			return own
		}
		require.Equal(t, expected, ownLines(e.run("--group", name+"-summary", "--summary")))
		require.Empty(t, ownLines(e.run("--group", name+"-summary")), "the group goes on where it was")
		require.Equal(
			t, expected, ownLines(e.run("--group", name+"-summary", "--summary", "--from-offset", "0")),
			"unless it is told to read again",
		)

		lines := ownLines(e.run("--group", name+"-before"))
		require.Len(t, lines, 100+100+1+1+100+1+1+1)
		deletions := map[string]exampleLine{}
		newest := int64(-1)
		for _, l := range lines {
			if l.Deleted != "" {
				deletions[l.Deleted] = l
			}
			if l.Source == kept && l.Metric == "m" {
				require.GreaterOrEqual(t, l.Version, newest, "one series has one order")
				newest = l.Version
			}
		}
		require.Equal(t, epoch.Add(12*time.Millisecond).Format("2006-01-02T15:04:05.000Z"), normal(lines, kept).Time)
		require.True(t, deletions[gone].WholeSource)
		require.Equal(t, "m", deletions[kept].Metric)
		require.NotNil(t, deletions[kept].From)

		require.Empty(t, e.run("--group", name+"-other", "--workspace", uuid.NewString()))
		time.Sleep(10 * time.Millisecond) // the timestamps of the log have millisecond precision
		later := time.Now()
		time.Sleep(10 * time.Millisecond)
		send(kept, fmt.Sprintf(hundred, times[50], "7"))
		lines = e.run("--group", name+"-other", "--from-time", later.UTC().Format(time.RFC3339Nano))
		require.Len(t, ownLines(lines), 1)
		require.InDelta(t, 7, lines[0].Value, 0)

		workspace := s.CLI("workspaces", "create", "--name", name, "--json")
		var other struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(workspace), &other))
		id := uuid.MustParse(other.ID)
		e.produce(id, pointblock.EncodeDeletions(id, us, []pointblock.Deletion{{WholeWorkspace: true}}))
		lines = e.run("--group", name+"-other", "--workspace", other.ID)
		require.Len(t, lines, 1)
		require.True(t, lines[0].WholeWorkspace)

		if name == "python" { // its table persists between runs
			db := filepath.Join(t.TempDir(), "points.sqlite")
			expected[0].Sum += 7 - 50
			for range 2 {
				require.Equal(t, expected, ownLines(e.run("--group", name+"-db", "--summary", "--db", db)))
			}
			require.Equal(
				t, expected, ownLines(e.run("--group", name+"-db", "--summary", "--db", db, "--from-offset", "0")),
				"reading again changes nothing",
			)
		}
	})
}

// normal returns the last line of the source's metric m, with its time in milliseconds.
func normal(lines []exampleLine, source string) (last exampleLine) {
	for _, l := range lines {
		if l.Source == source && l.Metric == "m" {
			last = l
		}
	}
	at, err := time.Parse(time.RFC3339Nano, last.Time)
	if err == nil {
		last.Time = at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return last
}

// TestThePythonExampleHasTheCurrentSchema requires that points_pb2.py is generated from the current
// schema.
func TestThePythonExampleHasTheCurrentSchema(t *testing.T) {
	t.Parallel()
	python, err := consumerPython()
	require.NoError(t, err)
	command := exec.Command(
		python, "-c", `import points_pb2, sys; sys.stdout.write(points_pb2.DESCRIPTOR.serialized_pb.hex())`,
	)
	command.Dir = filepath.Join(examples, "python")
	printed, err := command.Output()
	require.NoError(t, err)
	theirs, err := hex.DecodeString(string(printed))
	require.NoError(t, err)
	var generated descriptorpb.FileDescriptorProto
	require.NoError(t, proto.Unmarshal(theirs, &generated))
	current := protodesc.ToFileDescriptorProto(eventsv1.File_events_v1_points_proto)
	current.Name = generated.Name
	for _, message := range current.GetMessageType() {
		for _, field := range message.GetField() {
			field.JsonName = nil // protoc omits names that it can derive
		}
	}
	require.True(
		t, proto.Equal(current, &generated), "docs/consumers/python/points_pb2.py is stale: its README says how it is made",
	)
}

// TestTheGuideOfTheConsumersWorksWhenPasted runs the commands of the guide, except for the
// installation, which other tests cover. It replaces the paths by the test's own.
func TestTheGuideOfTheConsumersWorksWhenPasted(t *testing.T) {
	t.Parallel()
	python, err := consumerPython()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(examples, "README.md"))
	require.NoError(t, err)
	s := newServer(t)
	s.Start()
	source := s.createSource("pump")
	s.Do("POST", "/api/live-data/ingest", json.RawMessage(batch{0}.body(source)), http.StatusCreated, nil)
	var commands strings.Builder
	for i, part := range strings.Split(string(page), "```sh\n") {
		if i == 0 {
			continue
		}
		block, _, _ := strings.Cut(part, "```")
		for text := range strings.Lines(block) {
			if !strings.Contains(text, " -m venv ") && !strings.Contains(text, "pip install") {
				commands.WriteString(text)
			}
		}
	}
	replaced := commands.String()
	for what, by := range map[string]string{
		`"data/control.json"`:                `"` + filepath.Join(s.DataDir, "control.json") + `"`,
		"/tmp/livegraph-consumer/bin/python": python,
		"/tmp/livegraph-points.sqlite":       filepath.Join(t.TempDir(), "points.sqlite"),
	} {
		require.Contains(t, replaced, what)
		replaced = strings.ReplaceAll(replaced, what, by)
	}
	shell := exec.Command("bash", "-euo", "pipefail", "-c", replaced)
	shell.Dir = "../.."
	var failures bytes.Buffer
	shell.Stderr = &failures
	printed, err := shell.Output()
	require.NoError(t, err, "%s", &failures)
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	require.Len(t, lines, 3+1+1+1+3+3+3, "%s", printed)
	require.Contains(t, lines[0], `"value":`)
	require.Equal(t, []string{"0", fmt.Sprint(pointsInBatch), fmt.Sprint(pointsInBatch)}, lines[3:6])
	require.Contains(t, lines[6], fmt.Sprintf(`"count":%d`, pointsInSeries))
	require.Contains(t, lines[9], `"value": `)
	require.Contains(t, lines[12], fmt.Sprintf(`"count": %d`, pointsInSeries))
}
