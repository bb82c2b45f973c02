// Package environment starts what the faults are injected into: the engines, each behind a proxy,
// and the binary as several processes that share them, as in production. Addresses do not change
// over restarts; killed processes are started again.
//
// The engines are the embedded editions (or Apache Kafka instead of the embedded one); their data
// and all logs are below one directory. All processes of an environment end with the process that
// started it.
package environment

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

// SessionTimeout is the session timeout of the consumers: as short as brokers allow, so that
// sessions expire often and tests do not wait long.
const SessionTimeout = 6 * time.Second

// Options configure an environment.
type Options struct {
	Dir      string // parent of all data and logs; created if missing
	Binary   string // the built livegraph
	Kafka    string // Apache; "": the embedded edition
	Shards   int    // of ClickHouse, which is then a cluster; 0: one server
	Embedder bool   // run the embedded embedder; otherwise the model inside the binary is used
	Disks    bool   // mount a disk for each engine, which can be filled; see MayMount
	Seed     uint64 // of the random choices of the proxies
	Log      *slog.Logger

	// Hosts run one process of each of HostRoles; empty: the processes run on this machine, each
	// consumer once, so that stopping the process makes the consumer unavailable.
	Hosts []Host
	// Brokers are the addresses, host:port, of a Kafka without a login that the caller runs; empty: the
	// environment starts one.
	Brokers []string
	// Address is the IP address on which the proxies listen; default: the loopback interface.
	Address string
}

// FirstRun is the content of first-run.json.
type FirstRun struct {
	WorkspaceID, AdminKey, URL, AdminUser, AdminPassword string
}

// Environment is a running environment. Stop ends it.
type Environment struct {
	First FirstRun

	options Options
	proxies []*proxy.Proxy
	broker  *Process             // of the embedded Kafka; nil with Apache Kafka
	login   config.KafkaSecurity // credentials for Kafka; zero with Apache Kafka

	mu        sync.Mutex
	engines   map[string]*Engine
	processes []*Role
}

// Role is a process of the binary with one role.
type Role struct {
	*Process
	Role      string // as in --roles
	Host      string // name of its host; empty: this machine
	Binary    string // that the next start runs; it may be changed while the process is held and does not run
	Listen    string // host:port
	Metrics   string // likewise
	DataDir   string
	Disk      Disk // that contains its data
	Duplicate bool // it was started by StartDuplicate
}

// roles are the processes of an environment without hosts.
var roles = []struct {
	role  string
	count int
}{{"api", 2}, {"points", 1}, {"commands", 1}, {"embeddings", 1}, {"audit", 1}}

// Start starts an environment and returns when all of it is ready. If a part fails to start, it
// stops the others.
func Start(ctx context.Context, o Options) (*Environment, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	env := &Environment{options: o, engines: map[string]*Engine{}}
	if err := os.MkdirAll(env.logs(), 0o700); err != nil {
		return nil, err
	}
	err := env.startEngines(ctx)
	if err == nil {
		err = env.startRoles(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, env.Stop(context.WithoutCancel(ctx)))
	}
	return env, nil
}

// Stop stops the processes, then the engines.
func (env *Environment) Stop(ctx context.Context) error {
	var all sync.WaitGroup
	for _, r := range env.Roles("") {
		all.Go(r.Stop)
	}
	all.Wait()
	var errs []error
	for _, e := range env.Engines() {
		errs = append(errs, e.stop(ctx))
		errs = append(errs, unmount(e.Disk))
	}
	for _, r := range env.Roles("") {
		errs = append(errs, unmount(r.Disk))
	}
	for _, link := range env.proxies {
		errs = append(errs, link.Close())
	}
	return errors.Join(errs...)
}

func (env *Environment) logs() string { return filepath.Join(env.options.Dir, "logs") }

func (env *Environment) add(e *Engine) {
	env.mu.Lock()
	defer env.mu.Unlock()
	env.engines[e.Name] = e
}

// Engine returns an engine, nil if the environment has none of that name.
func (env *Environment) Engine(name string) *Engine {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.engines[name]
}

// Engines returns all engines, always in the same order.
func (env *Environment) Engines() []*Engine {
	var all []*Engine
	for _, name := range []string{Kafka, Kafka2, ClickHouse, Postgres, Redis, Milvus, Embedder} {
		if e := env.Engine(name); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// Roles returns the processes of a role; "": all.
func (env *Environment) Roles(role string) []*Role {
	env.mu.Lock()
	defer env.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(env.processes), func(r *Role) bool { return role != "" && r.Role != role })
}

// APIs returns the base URLs of the API processes.
func (env *Environment) APIs() []string {
	var all []string
	for _, r := range env.Roles("api") {
		all = append(all, "http://"+r.Listen)
	}
	return all
}

// Brokers returns the addresses of the Kafka proxies, host:port.
func (env *Environment) Brokers() []string {
	if len(env.options.Brokers) > 0 {
		return env.options.Brokers
	}
	brokers := []string{env.Engine(Kafka).ProxyAddress}
	if second := env.Engine(Kafka2); second != nil {
		brokers = append(brokers, second.ProxyAddress)
	}
	return brokers
}

// KafkaOptions returns the options of a Kafka client that connects like the processes, through the
// proxies.
func (env *Environment) KafkaOptions(more ...kgo.Opt) []kgo.Opt {
	opts := append(kafkaLogin(env.login), kgo.SeedBrokers(env.Brokers()...))
	return append(opts, more...)
}

// Apache reports whether Kafka is Apache Kafka.
func (env *Environment) Apache() bool { return env.broker == nil }

// startRoles starts the processes of the binary on empty engines, and reads the first-run.json that
// one of them has written.
func (env *Environment) startRoles(ctx context.Context) error {
	all, err := env.newRoles()
	if err != nil {
		return err
	}
	env.mu.Lock()
	env.processes = all
	env.mu.Unlock()
	for _, role := range all {
		role.Start()
	}
	if err := env.WaitReady(ctx); err != nil {
		return err
	}
	for _, r := range env.Roles("api") {
		raw, err := os.ReadFile(filepath.Join(r.DataDir, "first-run.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &env.First)
	}
	return errors.New("no process has made a first-run.json")
}

// newRole prepares a process of the binary without starting it.
func (env *Environment) newRole(role, name string) (*Role, error) {
	r := env.describeRole(role, name)
	var err error
	if r.Disk, err = env.makeDir(r.DataDir, role); err != nil {
		return nil, err
	}
	for _, address := range []*string{&r.Listen, &r.Metrics} {
		free, _, err := ports.Free() // reserved while this program runs
		if err != nil {
			return nil, err
		}
		*address = free
	}
	r.Process = env.newProcess(r, name, func(cmd *exec.Cmd) *exec.Cmd { return cmd })
	return r, nil
}

// Command returns another command of the binary, with the settings of the processes.
func (env *Environment) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, env.options.Binary, args...)
	cmd.Dir, cmd.Env = env.options.Dir, append(os.Environ(), env.environment()...)
	return cmd
}

// environment returns the settings of every process: the addresses of the engines, and short
// intervals for periodic work, so that it happens during a run.
func (env *Environment) environment() []string {
	settings := []string{
		"LIVEGRAPH_KAFKA_BROKERS=" + strings.Join(env.Brokers(), ","),
		"LIVEGRAPH_KAFKA_SASL_MECHANISM=" + env.login.SASLMechanism,
		"LIVEGRAPH_KAFKA_SASL_USERNAME=" + env.login.SASLUsername,
		"LIVEGRAPH_KAFKA_SASL_PASSWORD=" + env.login.SASLPassword.Reveal(),
		"LIVEGRAPH_CLICKHOUSE_URL=" + env.Engine(ClickHouse).ProxyAddress,
		"LIVEGRAPH_POSTGRES_URL=" + env.Engine(Postgres).ProxyAddress,
		"LIVEGRAPH_REDIS_URL=" + env.Engine(Redis).ProxyAddress,
		"LIVEGRAPH_MILVUS_ADDRESS=" + env.Engine(Milvus).ProxyAddress,
		"LIVEGRAPH_POSTGRES_MAX_CONNS=" + strconv.Itoa(maxConns),
		"LIVEGRAPH_KAFKA_SESSION_TIMEOUT=" + SessionTimeout.String(),
		"LIVEGRAPH_ROLLUPS_QUIET=2s", "LIVEGRAPH_ROLLUPS_LATE=5s",
		"LIVEGRAPH_LOG_FORMAT=json",
	}
	if env.options.Shards > 0 {
		settings = append(settings, "LIVEGRAPH_CLICKHOUSE_CLUSTER="+embedded.ClickHouseCluster)
	}
	e := env.Engine(Embedder)
	if e == nil {
		return append(settings, "LIVEGRAPH_EMBEDDER=static")
	}
	u, err := url.Parse(e.ProxyAddress)
	if err != nil {
		return settings
	}
	key, _ := u.User.Password()
	u.User = nil
	return append(settings, "LIVEGRAPH_EMBEDDER="+u.String(), "LIVEGRAPH_EMBEDDER_KEY="+key, "LIVEGRAPH_EMBEDDER_MODEL="+
		embedded.EmbedderModel,
		"LIVEGRAPH_EMBEDDER_DIMENSIONS="+strconv.Itoa(embedded.EmbedderDimensions),
		"LIVEGRAPH_EMBEDDER_ALLOW_PRIVATE_ADDRESSES=true")
}

// StartDuplicate starts a further process of a role, in the same consumer group; end kills it.
func (env *Environment) StartDuplicate(role, name string) (duplicate *Role, end func(), err error) {
	if duplicate, err = env.newRole(role, name); err != nil {
		return nil, nil, err
	}
	duplicate.Duplicate = true
	duplicate.Start()
	env.mu.Lock()
	env.processes = append(env.processes, duplicate)
	env.mu.Unlock()
	return duplicate, sync.OnceFunc(func() {
		duplicate.update(func() { duplicate.stopping = true })
		duplicate.Kill()
		<-duplicate.done
		env.mu.Lock()
		defer env.mu.Unlock()
		env.processes = slices.DeleteFunc(env.processes, func(r *Role) bool { return r == duplicate })
	}), nil
}

// WaitReady waits until every engine and every process is ready.
func (env *Environment) WaitReady(ctx context.Context) error {
	var group errgroup.Group
	for _, e := range env.Engines() {
		group.Go(func() error { return e.WaitReady(ctx) })
	}
	for _, r := range env.Roles("") {
		group.Go(func() error { return r.WaitReady(ctx) })
	}
	return group.Wait()
}

// Vitals are the resident memory of a process, in bytes, and its number of open files.
type Vitals struct {
	Process string `json:"process"`
	RSS     int64  `json:"rss"`
	Files   int    `json:"files"`
}

// Vitals returns the Vitals of the binary's processes.
func (env *Environment) Vitals() []Vitals {
	var all []Vitals
	for _, r := range env.Roles("") {
		rss, files := readVitals(r.PID())
		all = append(all, Vitals{r.Name, rss, files})
	}
	return all
}

// Exits returns the unexpected exits of processes since the last call.
func (env *Environment) Exits() []Exit {
	var all []Exit
	for _, r := range env.Roles("") {
		all = append(all, r.Exits()...)
	}
	if env.broker != nil {
		all = append(all, env.broker.Exits()...)
	}
	return all
}

// CountLogLines returns the number of lines in the logs of the binary's processes that contain all
// words.
func (env *Environment) CountLogLines(words ...string) (lines int) {
	for _, r := range env.Roles("") {
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
