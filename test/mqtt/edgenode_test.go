package mqtt

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const python = "../../bin/mqtt-python/bin/python" // set up by make test-all

// edgeNode is a process with an edge node of Sparkplug B of another project.
type edgeNode struct {
	t        *testing.T
	cmd      *exec.Cmd
	input    io.WriteCloser
	done     chan struct{}
	mu       sync.Mutex
	commands []string // that it has received
}

// m is a metric as testdata/edgenode.py reads it.
type m struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Value      any    `json:"value"` // nil: null
	Alias      int    `json:"alias"`
	Time       int64  `json:"time"` // in ms since the epoch
	Send       string `json:"send,omitempty"`
	Historical bool   `json:"historical,omitempty"`
	Transient  bool   `json:"transient,omitempty"`
}

// data returns the metric with another value and time, which is sent by its alias only.
func (v m) data(value any, at int64) m {
	v.Value, v.Time, v.Send = value, at, "alias"
	return v
}

// named returns the metric with another value and time, which is sent by its name.
func (v m) named(value any, at int64) m {
	v.Value, v.Time, v.Send = value, at, ""
	return v
}

func startEdgeNode(t *testing.T, group, node string, metrics ...m) *edgeNode {
	t.Helper()
	require.FileExists(t, python, "make test-all sets it up")
	n := &edgeNode{t: t, cmd: exec.Command(python, "testdata/edgenode.py"), done: make(chan struct{})}
	n.cmd.Stderr = os.Stderr
	output, err := n.cmd.StdoutPipe()
	require.NoError(t, err)
	n.input, err = n.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, n.cmd.Start())
	go n.read(output)
	t.Cleanup(n.kill)
	n.do("create", map[string]any{"group": group, "node": node, "metrics": metrics})
	return n
}

func (n *edgeNode) read(output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var event struct{ Command string }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Command != "" {
			n.mu.Lock()
			n.commands = append(n.commands, event.Command)
			n.mu.Unlock()
			continue
		}
		n.done <- struct{}{}
	}
}

// do has the process do something and waits until it has.
func (n *edgeNode) do(what string, arguments map[string]any) {
	n.t.Helper()
	line := map[string]any{"do": what}
	maps.Copy(line, arguments)
	text, err := json.Marshal(line)
	require.NoError(n.t, err)
	_, err = n.input.Write(append(text, '\n'))
	require.NoError(n.t, err)
	select {
	case <-n.done:
	case <-time.After(30 * time.Second):
		require.Fail(n.t, "the edge node does not answer", what)
	}
}

func (n *edgeNode) connect(b *broker) {
	n.t.Helper()
	_, port, err := net.SplitHostPort(b.address)
	require.NoError(n.t, err)
	number, err := strconv.Atoi(port)
	require.NoError(n.t, err)
	n.do("connect", map[string]any{"port": number})
}

func (n *edgeNode) register(device string, metrics ...m) {
	n.t.Helper()
	n.do("register", map[string]any{"device": device, "metrics": metrics})
}

// data publishes data of a device, or of the node for "".
func (n *edgeNode) data(device string, qos int, metrics ...m) {
	n.t.Helper()
	n.do("data", map[string]any{"device": device, "qos": qos, "metrics": metrics})
}

func (n *edgeNode) received() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.commands)
}

// kill ends the process, so that the broker publishes its will.
func (n *edgeNode) kill() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// seriesOf returns all raw points of the sources of a group by series: "SOURCE METRIC TAG=VALUE". Times are in ms.
func seriesOf(t *testing.T, s *harness.Server, group string) map[string][]string {
	var result []struct {
		SourceName, Metric string
		Tags               map[string]string
		Points             [][]json.RawMessage
	}
	a, err := s.Try(http.MethodGet, "/api/live-data/query?"+url.Values{
		"from": {"-3h"}, "limit": {"100"}, "epoch": {"ms"}, "tag.group": {group},
	}.Encode(), nil)
	if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Data, &result) != nil {
		t.Logf("%v %+v", err, a.Error)
		return nil
	}
	series := map[string][]string{}
	for _, r := range result {
		name := r.SourceName + " " + r.Metric
		for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
			name += " " + key + "=" + r.Tags[key]
		}
		for _, p := range r.Points {
			series[name] = append(series[name], string(p[0])+" "+string(p[1]))
		}
	}
	return series
}

// requireSeries waits until a group has exactly these points, and checks that they stay.
func requireSeries(t *testing.T, s *harness.Server, group string, want map[string][]string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return maps.EqualFunc(want, seriesOf(t, s, group), slices.Equal[[]string])
	}, 30*time.Second, 200*time.Millisecond, "want %v\nhave %v", lazy(func() string { return text(want) }),
		lazy(func() string { return text(seriesOf(t, s, group)) }))
}

// lazy is a text of a message that is made when it is needed.
type lazy func() string

func (l lazy) String() string { return l() }

func text(series map[string][]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(series)) {
		b.WriteString("\n  " + name + ": " + strings.Join(series[name], ", "))
	}
	return b.String()
}

// sparkplugBridge starts a bridge of a group as docs/mqtt.md says.
func sparkplugBridge(t *testing.T, s *harness.Server, b *broker, version, group string) *bridge {
	t.Helper()
	bridge := startBridge(t, s, "brokers:\n  - url: mqtt://"+b.address+"\n    version: "+version+
		"\n    clientId: bridge-"+group+"\n    mappings:\n      - payload: sparkplug\n        group: "+group+
		"\n        tags: {group: '{group}', unit: '{device}'}\n", "--metrics", harness.FreeAddress(t))
	bridge.waitSubscribed(1)
	return bridge
}

func requireFull(t *testing.T) (*harness.Server, *broker) {
	t.Helper()
	testenv.RequireFull(t)
	s := harness.New(t, binary)
	s.Start()
	return s, startBroker(t, "mqtt", "allow_anonymous true")
}
