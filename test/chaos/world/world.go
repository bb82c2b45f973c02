// Package world sets up what faults are tried on: the engines, each behind a proxy, and
// the binary as several processes that share them, as in production. Addresses stay the
// same over restarts; what was killed is started again.
//
// The engines are the embedded editions (or Apache Kafka instead of the one inside);
// their data and the logs of all are below one directory. Nothing of a world outlives
// the process that made it.
package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/test/chaos/proxy"
	"github.com/livegraph/livegraph/test/ports"
)

// Apache is the name of the other edition of Kafka.
const Apache = "apache"

// Session is how long a consumer may be silent before others get its partitions: as
// short as brokers allow, so that it happens often and is waited for shortly.
const Session = 6 * time.Second

// Options say what world to make.
type Options struct {
	Dir      string // of everything; made if missing
	Binary   string // the built livegraph
	Kafka    string // Apache; "": the embedded edition
	Embedder bool   // the embedded embedder; else the model inside the binary
	Disks    bool   // give engines their own disks, which can be full; see MayMount
	Seed     uint64 // of what the proxies leave to chance
	Log      *slog.Logger
}

// FirstRun is first-run.json.
type FirstRun struct {
	WorkspaceID, AdminKey, URL, AdminUser, AdminPassword string
}

// World is a running world. Stop ends it.
type World struct {
	First FirstRun

	options Options
	ways    []*proxy.Proxy
	broker  *Process             // the embedded Kafka's; nil with Apache Kafka
	login   config.KafkaSecurity // to Kafka; zero with Apache Kafka

	mu        sync.Mutex
	engines   map[string]*Engine
	processes []*Role
}

// Role is a process of the binary with one role.
type Role struct {
	*Process
	Role    string // as in --roles
	Listen  string // host:port
	Metrics string // likewise
	DataDir string
	Disk    Disk // that its data are on
	Twin    bool // it was made by Twin
}

// roles are the processes of a world: the consumers once, so that each can be unavailable.
var roles = []struct {
	role  string
	count int
}{{"api", 2}, {"points", 1}, {"commands", 1}, {"embeddings", 1}, {"audit", 1}}

// Start makes a world and returns when all of it serves. When something does not, the
// rest is ended.
func Start(ctx context.Context, o Options) (*World, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	w := &World{options: o, engines: map[string]*Engine{}}
	if err := os.MkdirAll(w.logs(), 0o700); err != nil {
		return nil, err
	}
	err := w.startEngines(ctx)
	if err == nil {
		err = w.startRoles(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Stop(context.WithoutCancel(ctx)))
	}
	return w, nil
}

// Stop ends the processes, then the engines.
func (w *World) Stop(ctx context.Context) error {
	var all sync.WaitGroup
	for _, r := range w.Roles("") {
		all.Go(r.stop)
	}
	all.Wait()
	var errs []error
	for _, e := range w.Engines() {
		errs = append(errs, e.stop(ctx))
		errs = append(errs, unmount(e.Disk))
	}
	for _, r := range w.Roles("") {
		errs = append(errs, unmount(r.Disk))
	}
	for _, way := range w.ways {
		errs = append(errs, way.Close())
	}
	return errors.Join(errs...)
}

func (w *World) logs() string { return filepath.Join(w.options.Dir, "logs") }

func (w *World) add(e *Engine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engines[e.Name] = e
}

// Engine returns an engine; nil: this world has none of the name.
func (w *World) Engine(name string) *Engine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.engines[name]
}

// Engines returns all, always in the same order.
func (w *World) Engines() []*Engine {
	var all []*Engine
	for _, name := range []string{Kafka, Kafka2, ClickHouse, Postgres, Redis, Milvus, Embedder} {
		if e := w.Engine(name); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// Roles returns the processes of a role; "": all.
func (w *World) Roles(role string) []*Role {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.processes), func(r *Role) bool { return role != "" && r.Role != role })
}

// APIs are the base URLs of the API processes.
func (w *World) APIs() []string {
	var all []string
	for _, r := range w.Roles("api") {
		all = append(all, "http://"+r.Listen)
	}
	return all
}

// Brokers are the addresses of Kafka through the proxies, host:port.
func (w *World) Brokers() []string {
	brokers := []string{w.Engine(Kafka).Through}
	if second := w.Engine(Kafka2); second != nil {
		brokers = append(brokers, second.Through)
	}
	return brokers
}

// KafkaClient are the options of a client of Kafka that connects as the processes do.
func (w *World) KafkaClient(more ...kgo.Opt) []kgo.Opt {
	opts := append(kafkaLogin(w.login), kgo.SeedBrokers(w.Brokers()...))
	return append(opts, more...)
}

// Apache reports whether Kafka is Apache Kafka.
func (w *World) Apache() bool { return w.broker == nil }

// startRoles starts the binary's processes on empty engines, and finds the key that
// one of them has made.
func (w *World) startRoles(ctx context.Context) error {
	for _, r := range roles {
		for n := range r.count {
			role, err := w.newRole(r.role, r.role+"-"+strconv.Itoa(n+1))
			if err != nil {
				return err
			}
			w.mu.Lock()
			w.processes = append(w.processes, role)
			w.mu.Unlock()
			role.start()
		}
	}
	if err := w.WaitReady(ctx); err != nil {
		return err
	}
	for _, r := range w.Roles("api") {
		raw, err := os.ReadFile(filepath.Join(r.DataDir, "first-run.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &w.First)
	}
	return errors.New("no process has made a first-run.json")
}

// newRole prepares a process of the binary.
func (w *World) newRole(role, name string) (*Role, error) {
	r := &Role{Role: role, DataDir: filepath.Join(w.options.Dir, "processes", name)}
	var err error
	if r.Disk, err = w.ownDisk(r.DataDir, role); err != nil {
		return nil, err
	}
	for _, address := range []*string{&r.Listen, &r.Metrics} {
		free, _, err := ports.Free() // for as long as this program runs
		if err != nil {
			return nil, err
		}
		*address = free
	}
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r.Process = &Process{
		Name: name, logPath: filepath.Join(w.logs(), name+".log"),
		command: func() *exec.Cmd {
			cmd := exec.Command(w.options.Binary, "serve", "--roles", role, "--data-dir", r.DataDir,
				"--listen", r.Listen, "--metrics-listen", r.Metrics)
			cmd.Env = append(os.Environ(), w.environment()...)
			return cmd
		},
		probe: func(ctx context.Context) error { return probeReady(ctx, client, "http://"+r.Listen+"/readyz") },
	}
	return r, nil
}

// Command prepares another command of the binary, with the settings of every process.
func (w *World) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.options.Binary, args...)
	cmd.Dir, cmd.Env = w.options.Dir, append(os.Environ(), w.environment()...)
	return cmd
}

// environment are the settings of every process: where the engines are, and what is
// done often so that it happens during a run.
func (w *World) environment() []string {
	env := []string{
		"LIVEGRAPH_KAFKA_BROKERS=" + strings.Join(w.Brokers(), ","),
		"LIVEGRAPH_KAFKA_SASL_MECHANISM=" + w.login.SASLMechanism,
		"LIVEGRAPH_KAFKA_SASL_USERNAME=" + w.login.SASLUsername,
		"LIVEGRAPH_KAFKA_SASL_PASSWORD=" + w.login.SASLPassword.Reveal(),
		"LIVEGRAPH_CLICKHOUSE_URL=" + w.Engine(ClickHouse).Through,
		"LIVEGRAPH_POSTGRES_URL=" + w.Engine(Postgres).Through,
		"LIVEGRAPH_REDIS_URL=" + w.Engine(Redis).Through,
		"LIVEGRAPH_MILVUS_ADDRESS=" + w.Engine(Milvus).Through,
		"LIVEGRAPH_POSTGRES_MAX_CONNS=8", "LIVEGRAPH_KAFKA_SESSION_TIMEOUT=" + Session.String(),
		"LIVEGRAPH_ROLLUPS_QUIET=2s", "LIVEGRAPH_ROLLUPS_LATE=5s",
		"LIVEGRAPH_LOG_FORMAT=json",
	}
	e := w.Engine(Embedder)
	if e == nil {
		return append(env, "LIVEGRAPH_EMBEDDER=static")
	}
	u, err := url.Parse(e.Through)
	if err != nil {
		return env
	}
	key, _ := u.User.Password()
	u.User = nil
	return append(env, "LIVEGRAPH_EMBEDDER="+u.String(), "LIVEGRAPH_EMBEDDER_KEY="+key, "LIVEGRAPH_EMBEDDER_MODEL="+
		embedded.EmbedderModel,
		"LIVEGRAPH_EMBEDDER_DIMENSIONS="+strconv.Itoa(embedded.EmbedderDimensions),
		"LIVEGRAPH_EMBEDDER_ALLOW_PRIVATE_ADDRESSES=true")
}

// Twin starts a further process of a role, in the same consumer group; end kills it.
func (w *World) Twin(role, name string) (twin *Role, end func(), err error) {
	if twin, err = w.newRole(role, name); err != nil {
		return nil, nil, err
	}
	twin.Twin = true
	twin.start()
	w.mu.Lock()
	w.processes = append(w.processes, twin)
	w.mu.Unlock()
	return twin, sync.OnceFunc(func() {
		twin.set(func() { twin.stopping = true })
		twin.Kill()
		<-twin.over
		w.mu.Lock()
		defer w.mu.Unlock()
		w.processes = slices.DeleteFunc(w.processes, func(r *Role) bool { return r == twin })
	}), nil
}

// WaitReady waits until every engine answers and every process serves.
func (w *World) WaitReady(ctx context.Context) error {
	var group errgroup.Group
	for _, e := range w.Engines() {
		group.Go(func() error { return e.WaitReady(ctx) })
	}
	for _, r := range w.Roles("") {
		group.Go(func() error { return r.WaitReady(ctx) })
	}
	return group.Wait()
}

// Vitals are a process's memory in use, in bytes, and its open files.
type Vitals struct {
	Process string `json:"process"`
	RSS     int64  `json:"rss"`
	Files   int    `json:"files"`
}

// Vitals returns those of the binary's processes.
func (w *World) Vitals() []Vitals {
	var all []Vitals
	for _, r := range w.Roles("") {
		rss, files := vitals(r.PID())
		all = append(all, Vitals{r.Name, rss, files})
	}
	return all
}

// Exits returns the ends of processes that nobody asked for, since the last call.
func (w *World) Exits() []Exit {
	var all []Exit
	for _, r := range w.Roles("") {
		all = append(all, r.Exits()...)
	}
	if w.broker != nil {
		all = append(all, w.broker.Exits()...)
	}
	return all
}

// Says counts the lines with all of some words in the logs of the binary's processes,
// since the world began.
func (w *World) Says(words ...string) (lines int) {
	for _, r := range w.Roles("") {
		raw, err := os.ReadFile(r.logPath)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				lines++
			}
		}
	}
	return lines
}

func probeReady(ctx context.Context, client *http.Client, at string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}
