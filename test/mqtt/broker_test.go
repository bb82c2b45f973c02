package mqtt

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

// broker is a Mosquitto that keeps its sessions on disk.
type broker struct {
	t       *testing.T
	address string
	scheme  string
	dir     string
	cmd     *exec.Cmd
}

// startBroker starts a Mosquitto with further lines of configuration.
func startBroker(t *testing.T, scheme, config string) *broker {
	t.Helper()
	testenv.RequireEngines(t)
	path, err := exec.LookPath("mosquitto")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/mosquitto"); err != nil {
			testenv.SkipMissing(t, "the tests of livegraph mqtt (mosquitto)")
		}
	}
	b := &broker{t: t, scheme: scheme, address: harness.FreeAddress(t), dir: t.TempDir()}
	_, port, err := net.SplitHostPort(b.address)
	require.NoError(t, err)
	b.write("mosquitto.conf", fmt.Sprintf("listener %s 127.0.0.1\n%s\npersistence true\npersistence_location %s/\n"+
		"autosave_on_changes true\nautosave_interval 1\nmax_queued_messages 0\n%s", port, config, b.dir, user()))
	b.cmd = exec.Command(path, "-c", filepath.Join(b.dir, "mosquitto.conf"))
	b.start()
	t.Cleanup(b.stop)
	return b
}

// user returns the setting of the user that the broker runs as: it would give up root otherwise, and could not write.
func user() string {
	if os.Geteuid() == 0 {
		return "user root\n"
	}
	return ""
}

func (b *broker) write(name, text string) string {
	path := filepath.Join(b.dir, name)
	require.NoError(b.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (b *broker) start() {
	b.t.Helper()
	var log bytes.Buffer
	b.cmd = exec.Command(b.cmd.Path, b.cmd.Args[1:]...)
	b.cmd.Stdout, b.cmd.Stderr = &log, &log
	require.NoError(b.t, b.cmd.Start())
	require.Eventually(b.t, func() bool {
		c, err := net.Dial("tcp", b.address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "the broker does not listen")
}

// webSocket starts a WebSocket listener in front of a broker and returns its address. Mosquitto's own listener needs
// IPv6.
func webSocket(t *testing.T, broker string) (address string) {
	t.Helper()
	upgrader := websocket.Upgrader{Subprotocols: []string{"mqtt"}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = web.Close() }()
		c, err := net.Dial("tcp", broker)
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			for {
				_, message, err := web.ReadMessage()
				if err != nil {
					return
				}
				if _, err := c.Write(message); err != nil {
					return
				}
			}
		}()
		for buffer := make([]byte, 4096); ; {
			n, err := c.Read(buffer)
			if err != nil || web.WriteMessage(websocket.BinaryMessage, buffer[:n]) != nil {
				return
			}
		}
	}))
	t.Cleanup(front.CloseClientConnections)
	return strings.TrimPrefix(front.URL, "http://")
}

// stop ends the broker, which stores its sessions.
func (b *broker) stop() {
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	_ = b.cmd.Wait()
}

// client connects a client of MQTT 3.1.1 that publishes.
func (b *broker) client(id string, configure func(*paho.ClientOptions)) paho.Client {
	b.t.Helper()
	options := paho.NewClientOptions().AddBroker(b.scheme + "://" + b.address).SetClientID(id).
		SetConnectRetry(true).SetConnectRetryInterval(100 * time.Millisecond).SetMaxReconnectInterval(time.Second).
		SetCleanSession(false)
	if configure != nil {
		configure(options)
	}
	c := paho.NewClient(options)
	finish(b.t, c.Connect())
	b.t.Cleanup(func() { c.Disconnect(0) })
	return c
}

// finish waits for the end of an operation.
func finish(t testing.TB, token paho.Token) {
	t.Helper()
	require.True(t, token.WaitTimeout(30*time.Second), "the broker does not answer")
	require.NoError(t, token.Error())
}

// bridge is a process of `livegraph mqtt`.
type bridge struct {
	t      *testing.T
	server *harness.Server
	file   string
	args   []string
	mu     sync.Mutex
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// startBridge starts `livegraph mqtt` with a configuration.
func startBridge(t *testing.T, s *harness.Server, config string, args ...string) *bridge {
	t.Helper()
	b := &bridge{t: t, server: s, file: filepath.Join(t.TempDir(), "mqtt.yaml"), args: args}
	require.NoError(t, os.WriteFile(b.file, []byte(config), 0o600))
	b.start()
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Log(b.output())
		}
	})
	return b
}

func (b *bridge) start() {
	b.t.Helper()
	b.cmd = exec.Command(binary, append([]string{"mqtt", b.file, "--url", b.server.URL(), "--data-dir", b.t.TempDir(),
		"--flush", "50ms"}, b.args...)...)
	b.cmd.Env = append(os.Environ(),
		"LIVEGRAPH_API_KEY="+b.server.First.AdminKey, "LIVEGRAPH_WORKSPACE_ID="+b.server.First.WorkspaceID)
	b.cmd.Stderr = writer(func(p []byte) (int, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.log.Write(p)
	})
	require.NoError(b.t, b.cmd.Start())
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func (b *bridge) output() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// waitSubscribed waits until the bridge has subscribed n times.
func (b *bridge) waitSubscribed(n int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		return bytes.Count([]byte(b.output()), []byte("connected to the MQTT broker and subscribed")) >= n
	}, time.Minute, 20*time.Millisecond, "not subscribed")
}

func (b *bridge) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// stop ends the process as an operator does, and returns its exit code.
func (b *bridge) stop() int {
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	_ = b.cmd.Wait()
	return b.cmd.ProcessState.ExitCode()
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	output, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s", output)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// secret returns a file with the password "secret".
func secret(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	writeFile(t, path, "secret\n")
	return path
}
