package compose

import (
	"encoding/json"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// missing is what loading says when a password is not set.
const missing = "is missing a value: see deploy/.env.example"

func TestTheStackHasTheEnginesAndLivegraphByRoles(t *testing.T) {
	always := []string{
		apiService, pointsService, commandsService, indexService, "kafka", "clickhouse", "postgres", "redis", "milvus",
		"etcd", "minio", embedderService,
	}
	plain, err := loadProfiles(t, filled(t, nil))
	require.NoError(t, err)
	require.ElementsMatch(t, always, plain.ServiceNames(), "without a profile")
	require.ElementsMatch(t, append(always, monitors...), stack(t).ServiceNames())
}

func TestNothingLoadsWithoutThePasswords(t *testing.T) {
	_, err := load(t, example(t))
	require.ErrorContains(t, err, missing, "the example has no passwords")
	for _, name := range passwords(t) {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, filled(t, map[string]string{name: ""}))
			require.ErrorContains(t, err, "required variable "+name+" "+missing)

			variables := filled(t, nil)
			delete(variables, name)
			_, err = load(t, variables)
			require.ErrorContains(t, err, "required variable "+name+" "+missing)
		})
	}
}

func TestTheExampleEnvironmentHasEveryVariableAndNoOther(t *testing.T) {
	var used, set, required []string
	for name, v := range variablesUsed(t) {
		used = append(used, name)
		if v.Required {
			required = append(required, name)
		}
	}
	for name := range example(t) {
		set = append(set, name)
	}
	require.ElementsMatch(t, used, set)
	require.ElementsMatch(t, passwords(t), required, "required variables are the passwords")
	file, err := os.ReadFile(composeFile)
	require.NoError(t, err)
	for _, reference := range regexp.MustCompile(`[^$]\$\{?\w+_PASSWORD[^}]*`).FindAllString(string(file), -1) {
		require.Regexp(t, `^.\$\{\w+:\?see deploy/\.env\.example$`, reference, "a password that may be missing")
	}
	for _, name := range passwords(t) {
		require.Empty(t, example(t)[name], "%s must not have an example value: somebody would keep it", name)
	}
}

func TestEverySecretComesFromTheEnvironment(t *testing.T) {
	project := stack(t)
	secret := regexp.MustCompile(`(?i)(password|secret|auth|token|_key)$`)
	holdsCanary := regexp.MustCompile(`^canary0\w+$`)
	each(t, project, func(t *testing.T, _ string, service types.ServiceConfig) {
		for name, value := range environment(service) {
			if secret.MatchString(name) {
				require.Regexp(t, holdsCanary, value, "%s is written into the file", name)
			}
			if _, userinfo, _ := strings.Cut(value, "://"); strings.Contains(userinfo, "@") {
				require.Regexp(t, `^[a-z]+://\w*:canary0\w+@`, value, "%s has a password of its own", name)
			}
		}
		require.Empty(t, service.EnvFiles)
		// What a list of processes or of images shows.
		for what, part := range map[string]any{
			"command": service.Command, "entrypoint": service.Entrypoint, "health check": service.HealthCheck,
			"build": service.Build, "labels": service.Labels,
		} {
			payload, err := json.Marshal(part)
			require.NoError(t, err)
			require.NotContains(t, string(payload), "canary0", "a password in the %s can be seen by others", what)
		}
	})
	for name, config := range project.Configs {
		for _, line := range strings.Split(config.Content, "\n") {
			if setting, value, _ := strings.Cut(line, " "); strings.Contains(setting, "pass") {
				require.Regexp(t, holdsCanary, value, "config %s: %s is written into the file", name, setting)
			}
		}
	}
	require.Contains(t, project.Configs["valkey"].Content, "requirepass "+canary("REDIS_PASSWORD"))
}

func TestEveryPasswordReachesTheStoreAndLivegraphAlike(t *testing.T) {
	project := stack(t)
	for variable, at := range map[string][2]string{
		"CLICKHOUSE_PASSWORD": {"clickhouse", "CLICKHOUSE_PASSWORD"},
		"POSTGRES_PASSWORD":   {"postgres", "POSTGRES_PASSWORD"},
		"REDIS_PASSWORD":      {"redis", "REDISCLI_AUTH"},
		"MINIO_PASSWORD":      {"minio", "MINIO_ROOT_PASSWORD"},
		"EMBEDDER_PASSWORD":   {embedderService, "EMBEDDER_KEY"},
	} {
		require.Equal(t, canary(variable), environment(project.Services[at[0]])[at[1]])
	}
	minio, milvus := environment(project.Services["minio"]), environment(project.Services["milvus"])
	require.Equal(t, minio["MINIO_ROOT_USER"], milvus["MINIO_ACCESS_KEY_ID"])
	require.Equal(t, minio["MINIO_ROOT_PASSWORD"], milvus["MINIO_SECRET_ACCESS_KEY"])
}

// exactVersion is a tag that names one release: 4.3.1, 18.6-trixie, 3.13.18-slim-trixie, v2.4.24,
// RELEASE.2024-12-18T13-15-44Z.
var exactVersion = regexp.MustCompile(
	`^(v?\d+\.\d+(\.\d+)*(-[a-z]+[\d.]*)*|RELEASE\.\d{4}(-\d{2}){2}T\d{2}(-\d{2}){2}Z)$`,
)

// tagOf returns an image's tag: what follows the last colon behind the last slash.
func tagOf(image string) string {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

func TestEveryImageIsPinnedToAnExactVersion(t *testing.T) {
	project, err := load(t, filled(t, map[string]string{"IMAGE_VERSION": "1.2.3"}))
	require.NoError(t, err)
	each(t, project, func(t *testing.T, name string, service types.ServiceConfig) {
		require.Regexp(t, exactVersion, tagOf(service.Image), "image %s", service.Image)
		if service.Build != nil {
			require.Contains(t, append(slices.Clone(livegraph), embedderService), name, "others are built here")
			require.Equal(t, "1.2.3", tagOf(service.Image))
		}
	})
	for _, tag := range []string{"", "latest", "18", "alpine", "nonroot", "v2", "stable-1"} {
		require.NotRegexp(t, exactVersion, tag)
	}
}

// asks is what each health check asks for: more than that a port is open.
var asks = map[string]string{
	"kafka": "kafka-broker-api-versions.sh", "clickhouse": "SELECT 1", "postgres": "pg_isready", "redis": "PONG",
	"milvus": ":9091/healthz", "etcd": "endpoint health", "minio": "/minio/health/live",
	apiService: "/readyz", pointsService: "/readyz", commandsService: "/readyz", indexService: "/readyz",
	embedderService: "/health",
	"prometheus":    "promtool check ready", "grafana": ":3000/api/health",
}

func TestEveryServiceHasAHealthCheck(t *testing.T) {
	each(t, stack(t), func(t *testing.T, name string, service types.ServiceConfig) {
		check := service.HealthCheck
		require.NotNil(t, check)
		require.False(t, check.Disable)
		require.Greater(t, len(check.Test), 1)
		require.Contains(t, []string{"CMD", "CMD-SHELL"}, check.Test[0])
		require.Contains(t, asks, name)
		require.Contains(t, strings.Join(check.Test, " "), asks[name])
		require.NotNil(t, check.Interval)
		require.NotNil(t, check.Timeout)
		require.NotNil(t, check.Retries)
		require.NotNil(t, check.StartPeriod)
		require.LessOrEqual(t, time.Duration(*check.Timeout), time.Duration(*check.Interval))
	})
}

// address is host:port in a value.
var address = regexp.MustCompile(`(?:^|[@/,])([a-z][a-z-]*):(\d+)`)

func TestServicesWaitUntilWhatTheyTalkToIsHealthy(t *testing.T) {
	project := stack(t)
	each(t, project, func(t *testing.T, name string, service types.ServiceConfig) {
		for other, on := range service.DependsOn {
			require.Equal(t, types.ServiceConditionHealthy, on.Condition, "on %s", other)
			require.True(t, on.Required, "on %s", other)
			require.Contains(t, project.Services, other)
		}
		for variable, value := range environment(service) {
			for _, match := range address.FindAllStringSubmatch(value, -1) {
				other, known := project.Services[match[1]]
				if !known || match[1] == name || variable == "LIVEGRAPH_URL" { // Grafana starts to watch a stack that does not
					continue
				}
				require.Contains(t, service.DependsOn, match[1], "%s=%s", variable, value)
				require.True(t, shareNetwork(service, other), "%s cannot reach %s", name, match[1])
			}
		}
	})
	engines := []string{"kafka", "clickhouse", "postgres", "redis", "milvus", embedderService}
	for _, name := range livegraph {
		for _, engine := range engines {
			require.Contains(t, project.Services[name].DependsOn, engine)
		}
	}
	for _, name := range consumerServices {
		require.Contains(
			t, project.Services[name].DependsOn, apiService, "the API goes first: first-run.json is in its volume",
		)
	}
}

func shareNetwork(a, b types.ServiceConfig) bool {
	for name := range a.Networks {
		if _, both := b.Networks[name]; both {
			return true
		}
	}
	return false
}

// stores says where each image keeps its data.
var stores = map[string]string{
	"kafka": "/var/lib/kafka/data", "clickhouse": "/var/lib/clickhouse", "postgres": "/var/lib/postgresql",
	"redis": "/data", "milvus": "/var/lib/milvus", "etcd": "/etcd", "minio": "/minio_data",
	apiService: "/var/lib/livegraph", "prometheus": "/prometheus", "grafana": "/var/lib/grafana",
}

func TestEveryStoreKeepsItsDataInANamedVolume(t *testing.T) {
	project := stack(t)
	usedBy := map[string]string{}
	each(t, project, func(t *testing.T, name string, service types.ServiceConfig) {
		if slices.Contains(consumerServices, name) || name == embedderService {
			require.Empty(t, service.Volumes, "it keeps nothing")
			return
		}
		require.Contains(t, stores, name, "say where the new service keeps its data")
		kept := slices.DeleteFunc(slices.Clone(service.Volumes), func(v types.ServiceVolumeConfig) bool {
			return v.Type == types.VolumeTypeBind
		})
		require.Len(t, kept, 1)
		volume := kept[0]
		require.Equal(t, types.VolumeTypeVolume, volume.Type)
		require.Equal(t, stores[name], volume.Target)
		require.False(t, volume.ReadOnly)
		require.Contains(t, project.Volumes, volume.Source)
		require.NotContains(t, usedBy, volume.Source, "two services in one volume")
		usedBy[volume.Source] = name
	})
	require.Len(t, project.Volumes, len(usedBy), "a volume that nobody uses")

	// Where the place is a setting, it is the volume's.
	require.Equal(t, stores["kafka"], environment(project.Services["kafka"])["KAFKA_LOG_DIRS"])
	require.Contains(t, project.Services["etcd"].Command, "--data-dir="+stores["etcd"])
	require.Contains(t, project.Services["minio"].Command, stores["minio"])
	require.Contains(t, project.Services["prometheus"].Command, "--storage.tsdb.path="+stores["prometheus"])
	require.Contains(t, project.Configs["valkey"].Content, "dir "+stores["redis"]+"\n")
	require.Equal(t, stores[apiService], environment(project.Services[apiService])["LIVEGRAPH_DATA_DIR"])
}

func TestEveryServiceIsBounded(t *testing.T) {
	project := stack(t)
	each(t, project, func(t *testing.T, _ string, service types.ServiceConfig) {
		require.NotNil(t, service.Deploy)
		require.NotNil(t, service.Deploy.Resources.Limits)
		require.Positive(t, service.Deploy.Resources.Limits.NanoCPUs.Value(), "no limit of CPUs")
		require.Positive(t, int64(service.Deploy.Resources.Limits.MemoryBytes), "no limit of memory")
		require.NotNil(t, service.Logging)
		require.NotEmpty(t, service.Logging.Options["max-size"], "logs without bound")
		require.NotEmpty(t, service.Logging.Options["max-file"], "logs without bound")
		require.Equal(t, types.RestartPolicyUnlessStopped, service.Restart)
	})
	// What a process allows itself leaves room below its container's limit.
	for name, own := range map[string]int64{
		apiService:      size(t, environment(project.Services[apiService])["GOMEMLIMIT"]),
		pointsService:   size(t, environment(project.Services[pointsService])["GOMEMLIMIT"]),
		commandsService: size(t, environment(project.Services[commandsService])["GOMEMLIMIT"]),
		indexService:    size(t, environment(project.Services[indexService])["GOMEMLIMIT"]),
		"grafana":       size(t, environment(project.Services["grafana"])["GOMEMLIMIT"]),
		"kafka":         size(t, after(t, environment(project.Services["kafka"])["KAFKA_HEAP_OPTS"], "-Xmx")),
		"redis":         size(t, after(t, project.Configs["valkey"].Content, "maxmemory ")),
		"postgres":      size(t, after(t, strings.Join(project.Services["postgres"].Command, " "), "shared_buffers=")),
	} {
		limit := int64(project.Services[name].Deploy.Resources.Limits.MemoryBytes)
		require.Less(t, own, limit*9/10+1, "%s", name)
		require.Greater(t, own, limit/8, "%s", name)
	}
}

// after returns the word that follows prefix.
func after(t *testing.T, text, prefix string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, prefix)
	require.True(t, found, "no %q in %q", prefix, text)
	return strings.Fields(rest)[0]
}

// size reads 1800MiB, 1g, 384mb.
func size(t *testing.T, text string) int64 {
	t.Helper()
	match := regexp.MustCompile(`(?i)^(\d+)([mg])i?b?$`).FindStringSubmatch(text)
	require.NotNil(t, match, "%q is no size", text)
	n, err := strconv.ParseInt(match[1], 10, 64)
	require.NoError(t, err)
	if strings.EqualFold(match[2], "g") {
		n <<= 10
	}
	return n << 20
}

// published says which services have a port on this machine, and which it is.
var published = map[string]string{apiService: "8080", "prometheus": "9090", "grafana": "3000"}

func TestOnlyPagesForPeopleArePublishedAndOnTheLoopbackInterface(t *testing.T) {
	project := stack(t)
	each(t, project, func(t *testing.T, name string, service types.ServiceConfig) {
		require.Empty(t, service.NetworkMode)
		require.False(t, service.Privileged)
		require.Empty(t, service.Pid)
		if published[name] == "" {
			require.Empty(t, service.Ports)
			return
		}
		require.Len(t, service.Ports, 1)
		port := service.Ports[0]
		require.True(t, net.ParseIP(port.HostIP).IsLoopback(), "published on %q", port.HostIP)
		require.Equal(t, published[name], port.Published)
		require.Equal(t, published[name], strconv.FormatUint(uint64(port.Target), 10))
	})
	_, listens, err := net.SplitHostPort(environment(project.Services[apiService])["LIVEGRAPH_LISTEN"])
	require.NoError(t, err)
	require.Equal(t, published[apiService], listens, "the port that the API listens on")

	elsewhere, err := load(t, filled(t, map[string]string{"API_BIND": "10.1.2.3", "API_PORT": "9090"}))
	require.NoError(t, err)
	port := elsewhere.Services[apiService].Ports[0]
	require.Equal(t, "10.1.2.3:9090", net.JoinHostPort(port.HostIP, port.Published))

	unset := filled(t, nil)
	delete(unset, "API_BIND")
	defaults, err := load(t, unset)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", defaults.Services[apiService].Ports[0].HostIP)
}

func TestEnginesAreOnNetworksWithoutAWayOut(t *testing.T) {
	project := stack(t)
	each(t, project, func(t *testing.T, name string, service types.ServiceConfig) {
		require.NotEmpty(t, service.Networks)
		for network := range service.Networks {
			require.Contains(t, project.Networks, network)
			require.True(t, project.Networks[network].Internal || published[name] != "", "on %s", network)
		}
	})
	require.NotContains(t, project.Services[pointsService].Networks, "dashboards")
	// etcd has no password: only Milvus may reach it.
	for _, name := range []string{"etcd", "minio"} {
		for other, service := range project.Services {
			if shareNetwork(project.Services[name], service) {
				require.Contains(t, []string{"milvus", "etcd", "minio"}, other, "reaches %s", name)
			}
		}
	}
}

// setUp are the rights that an entry point needs to make a volume its user's and to become that
// user; of images whose process is not root from the start there are none.
var setUp = map[string][]string{
	"clickhouse": {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"},
	"postgres":   {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"},
	"redis":      {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"},
}

func TestNoContainerHasRightsItDoesNotNeed(t *testing.T) {
	written := []string{"kafka", "clickhouse", "milvus", "minio"} // their images write beside their volumes
	each(t, stack(t), func(t *testing.T, name string, service types.ServiceConfig) {
		require.Equal(t, []string{"ALL"}, service.CapDrop)
		require.Equal(t, setUp[name], service.CapAdd)
		require.Contains(t, service.SecurityOpt, "no-new-privileges:true")
		require.False(t, service.Privileged)
		require.Equal(t, !slices.Contains(written, name), service.ReadOnly)
	})
}

func TestKafkaIsOneBrokerThatKnowsIt(t *testing.T) {
	kafka := environment(stack(t).Services["kafka"])
	require.Equal(t, "broker,controller", kafka["KAFKA_PROCESS_ROLES"])
	require.Equal(t, kafka["KAFKA_NODE_ID"]+"@kafka:9093", kafka["KAFKA_CONTROLLER_QUORUM_VOTERS"])
	require.Equal(t, "PLAINTEXT://kafka:9092", kafka["KAFKA_ADVERTISED_LISTENERS"])
	require.Len(t, kafka["CLUSTER_ID"], 22)
	for _, setting := range []string{
		"DEFAULT_REPLICATION_FACTOR", "MIN_INSYNC_REPLICAS", "OFFSETS_TOPIC_REPLICATION_FACTOR",
		"TRANSACTION_STATE_LOG_REPLICATION_FACTOR", "TRANSACTION_STATE_LOG_MIN_ISR",
		"SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR", "SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR",
	} {
		require.Equal(t, "1", kafka["KAFKA_"+setting], setting)
	}
	require.Equal(t, "false", kafka["KAFKA_AUTO_CREATE_TOPICS_ENABLE"])
	require.Equal(
		t, "-1", kafka["KAFKA_LOG_RETENTION_MS"], "Kafka itself removes none by age: it does not know what was read",
	)
	bytes, err := strconv.ParseInt(kafka["KAFKA_LOG_RETENTION_BYTES"], 10, 64)
	require.NoError(t, err)
	require.Positive(t, bytes)
	minutes, err := strconv.Atoi(kafka["KAFKA_OFFSETS_RETENTION_MINUTES"])
	require.NoError(t, err)
	require.GreaterOrEqual(t, minutes, 7*24*60)
}

func TestPostgresTakesNoPasswordInTheClear(t *testing.T) {
	postgres := stack(t).Services["postgres"]
	settings := environment(postgres)
	require.Equal(t, "scram-sha-256", settings["POSTGRES_HOST_AUTH_METHOD"])
	require.Contains(t, settings["POSTGRES_INITDB_ARGS"], "--auth-host=scram-sha-256")
	require.Contains(t, settings["POSTGRES_INITDB_ARGS"], "--auth-local=scram-sha-256")
	require.Contains(t, settings["POSTGRES_INITDB_ARGS"], "--locale=C.UTF-8", "as the embedded edition")
	require.True(t, slices.Contains(postgres.Command, "password_encryption=scram-sha-256"))
}

func TestTheSmokeScriptSaysThatItIsNotPartOfTheSuite(t *testing.T) {
	payload, err := os.ReadFile(root + "/deploy/smoke.sh")
	require.NoError(t, err)
	script := string(payload)
	require.Contains(t, script, "not run by the test suite")
	require.Contains(t, script, "Run it on a machine with Docker")
	info, err := os.Stat(root + "/deploy/smoke.sh")
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100, "not executable")
	require.Contains(t, script, "--project-name livegraph-smoke", "it must not touch the real stack")
}
