package compose

import (
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
)

// These tests compare the stack with other files: Livegraph's configuration, go.mod, Prometheus and
// Grafana.

// consumerGrace is the maximum time in which the points consumer stores its batches, after the API's
// own shutdown.
const consumerGrace = 5 * time.Second

// settings returns the environment variables of every setting of a configuration.
func settings(configuration reflect.Type) map[string]bool {
	names := map[string]bool{}
	for i := range configuration.NumField() {
		field := configuration.Field(i)
		if name := field.Tag.Get("env"); name != "" {
			names[name] = true
		} else if field.Type.Kind() == reflect.Struct {
			maps.Copy(names, settings(field.Type))
		}
	}
	return names
}

var knownSettings = settings(reflect.TypeFor[config.Config]())

func hasKnownSettings(t *testing.T, _ *types.Project, s types.ServiceConfig) {
	for variable := range s.Environment {
		if strings.HasPrefix(variable, "LIVEGRAPH_") && s.Name != "grafana" { // its data source reads a client's variables
			require.Contains(t, knownSettings, variable)
			require.Contains(t, livegraph, s.Name)
		}
	}
}

func TestEverySettingOfTheExampleAndTheImageExists(t *testing.T) {
	require.Contains(t, knownSettings, "LIVEGRAPH_LISTEN")
	require.Contains(t, knownSettings, "LIVEGRAPH_KAFKA_BROKERS")
	for variable := range example(t) {
		require.True(t, knownSettings[variable] || !strings.HasPrefix(variable, "LIVEGRAPH_"), variable)
	}
	for variable := range imageEnvironment(t, dockerfile) {
		require.Contains(t, knownSettings, variable, "in the Dockerfile")
	}
}

// parseSettings parses a service's settings in the same way as the binary.
func parseSettings(t *testing.T, service types.ServiceConfig) *config.Config {
	t.Helper()
	for name := range knownSettings {
		if _, set := os.LookupEnv(name); set {
			t.Setenv(name, "") // restored afterwards
			require.NoError(t, os.Unsetenv(name))
		}
	}
	for name, value := range environment(service) {
		t.Setenv(name, value)
	}
	var cfg config.Config
	parser, err := kong.New(&cfg, kong.Exit(func(int) { t.Fatal("kong exited") }))
	require.NoError(t, err)
	_, err = parser.Parse(nil)
	require.NoError(t, err)
	require.NoError(t, cfg.Validate())
	return &cfg
}

func TestLivegraphTakesItsSettings(t *testing.T) {
	project := stack(t)
	clickhouse, postgres := environment(project.Services["clickhouse"]), environment(project.Services["postgres"])
	for name, roles := range map[string][]string{
		apiService: {"api"}, pointsService: {"points"}, commandsService: {"commands", "audit"}, indexService: {"embeddings"},
	} {
		t.Run(name, func(t *testing.T) {
			service := project.Services[name]
			cfg := parseSettings(t, service)
			require.Equal(t, roles, cfg.Roles)
			require.Equal(t, []string{"kafka:9092"}, cfg.Kafka.Brokers)
			require.Equal(t, "milvus:19530", cfg.Milvus.Address)
			require.Equal(t, "http://embedder:8080/v1", cfg.Embedder.Address)
			require.Equal(t, environment(project.Services[embedderService])["EMBEDDER_KEY"], cfg.Embedder.Key.Reveal())
			require.Equal(t, embedded.EmbedderModel, cfg.Embedder.Model)
			require.Equal(t, embedded.EmbedderDimensions, cfg.Embedder.Dimensions)
			for address, want := range map[config.Secret]string{
				cfg.ClickHouse.URL: "clickhouse://" + clickhouse["CLICKHOUSE_USER"] + ":" + clickhouse["CLICKHOUSE_PASSWORD"] +
					"@clickhouse:9000/" + clickhouse["CLICKHOUSE_DB"],
				// not a superuser: see TestTheApplicationOwnsItsDatabaseAndIsNoSuperuser
				cfg.Postgres.URL: "postgres://livegraph_app:" + canary("DATABASE_PASSWORD") + "@postgres:5432/" +
					postgres["POSTGRES_DB"],
				cfg.Redis.URL: "redis://:" + environment(project.Services["redis"])["REDISCLI_AUTH"] + "@redis:6379",
			} {
				u, err := url.Parse(address.Reveal())
				require.NoError(t, err)
				u.RawQuery = ""
				require.Equal(t, want, strings.TrimSuffix(strings.TrimSuffix(u.String(), "/0"), "/"))
			}
			require.NotNil(t, service.StopGracePeriod)
			require.Greater(t, time.Duration(*service.StopGracePeriod), cfg.API.ShutdownTimeout+consumerGrace,
				"Docker would kill it while it stores what it holds")
		})
	}
	minio, milvus := environment(project.Services["minio"]), environment(project.Services["milvus"])
	require.Equal(t, minio["MINIO_ROOT_USER"], milvus["MINIO_ACCESS_KEY_ID"])
	require.Equal(t, minio["MINIO_ROOT_PASSWORD"], milvus["MINIO_SECRET_ACCESS_KEY"])
	require.Contains(t, project.Configs["valkey"].Content, "requirepass "+canary("REDIS_PASSWORD"))
}

func TestWhatTheOperatorSetsReachesTheStack(t *testing.T) {
	project, err := load(t, filledExample(t, map[string]string{
		"LIVEGRAPH_API_PUBLIC_URL": "https://live.example.org", "LIVEGRAPH_API_TRUSTED_PROXIES": "10.0.0.0/8,192.168.0.0/16",
		"LIVEGRAPH_API_CORS_ORIGINS": "https://a.example.org", "LIVEGRAPH_LOG_LEVEL": "debug",
		"LIVEGRAPH_KAFKA_POINTS_PARTITIONS": "32", "LIVEGRAPH_KAFKA_RETENTION_BYTES": "1073741824",
		"API_BIND": "10.1.2.3", "API_PORT": "9090", "PROMETHEUS_PORT": "9991", "GRAFANA_PORT": "3333",
	}))
	require.NoError(t, err)
	cfg := parseSettings(t, project.Services[apiService])
	require.Equal(t, "https://live.example.org", cfg.API.PublicURL)
	require.Equal(t, []string{"10.0.0.0/8", "192.168.0.0/16"}, cfg.API.TrustedProxies)
	require.Equal(t, []string{"https://a.example.org"}, cfg.API.CORSOrigins)
	require.Equal(t, "debug", cfg.Log.Level)
	require.EqualValues(t, 32, cfg.Kafka.PointsPartitions)
	require.EqualValues(t, 1<<30, cfg.Kafka.RetentionBytes)
	for name, address := range map[string]string{
		apiService: "10.1.2.3:9090", "prometheus": "127.0.0.1:9991", "grafana": "127.0.0.1:3333",
	} {
		port := project.Services[name].Ports[0]
		require.Equal(t, address, net.JoinHostPort(port.HostIP, port.Published))
	}
	require.Equal(t, "http://127.0.0.1:3333/", environment(project.Services["grafana"])["GF_SERVER_ROOT_URL"])

	unset := filledExample(t, map[string]string{"API_PORT": "9090"})
	delete(unset, "API_BIND")
	project, err = load(t, unset)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", project.Services[apiService].Ports[0].HostIP)
	require.Equal(t, "http://127.0.0.1:9090", parseSettings(t, project.Services[apiService]).API.PublicURL)
}

func TestTheRolesAreTheSameImageWithTheSameRights(t *testing.T) {
	project := stack(t)
	owner := "uid=" + strings.ReplaceAll(imageUser(t, dockerfile), ":", ",gid=")
	common := func(s types.ServiceConfig) []any {
		all := environment(s)
		for _, variable := range []string{
			"LIVEGRAPH_ROLES", "LIVEGRAPH_API_PUBLIC_URL", "LIVEGRAPH_API_CORS_ORIGINS", "LIVEGRAPH_API_TRUSTED_PROXIES",
		} {
			delete(all, variable)
		}
		return []any{all, s.Image, s.Build, s.StopGracePeriod, s.User, s.Command, s.Entrypoint, s.SecurityOpt}
	}
	for _, name := range livegraph {
		s := project.Services[name]
		require.Equal(t, common(project.Services[apiService]), common(s))
		require.Empty(t, s.User, "the image's own user, which is not root")
		require.True(t, name == apiService || slices.ContainsFunc(s.Tmpfs, func(mount string) bool {
			return strings.HasPrefix(mount, environment(s)["LIVEGRAPH_DATA_DIR"]+":") && strings.HasSuffix(mount, owner)
		}), "the data directory of a consumer must be the image user's (%s): %v", owner, s.Tmpfs)
	}
	file, err := os.ReadFile(composeFile)
	require.NoError(t, err)
	require.Equal(t, len(livegraph), strings.Count(string(file), "<<: *livegraph\n"), "all are made from one anchor")
}

// TestTheStacksVersionsAreThoseOfGoMod compares versions: Milvus's compatibility table pairs server
// and client by major and minor version, and the alert rules are tested with the engine of the
// Prometheus in the stack, whose release 3.15.1 is the module v0.315.1.
func TestTheStacksVersionsAreThoseOfGoMod(t *testing.T) {
	project := stack(t)
	version := func(file, pattern string) []string {
		content, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		match := regexp.MustCompile(pattern).FindStringSubmatch(string(content))
		require.NotNil(t, match, "%s in %s", pattern, file)
		return match
	}
	client := version("go.mod", `milvus-io/milvus-sdk-go/v2 v(\d+\.\d+)\.`)
	require.Regexp(t, `^v`+regexp.QuoteMeta(client[1])+`\.\d+$`, tagOf(project.Services["milvus"].Image))
	require.Regexp(t, `^v3\.5\.`, tagOf(project.Services["etcd"].Image), "Milvus 2.4 is made for etcd 3.5")
	engine := version("test/promql/go.mod", `prometheus/prometheus v0\.(\d)(\d+)\.(\d+)\n`)
	minor, err := strconv.Atoi(engine[2])
	require.NoError(t, err)
	require.Equal(t, "v"+engine[1]+"."+strconv.Itoa(minor)+"."+engine[3], tagOf(project.Services["prometheus"].Image))
}

// readDeployed reads a YAML file below deploy.
func readDeployed(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "deploy", path))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, into), path)
}

// sourceOfMount returns the path in the repository that is mounted at a path in a container.
func sourceOfMount(t *testing.T, service types.ServiceConfig, path string) string {
	t.Helper()
	for _, v := range service.Volumes {
		if below, under := strings.CutPrefix(path+"/", v.Target+"/"); under && v.Type == types.VolumeTypeBind {
			return filepath.Join(v.Source, below)
		}
	}
	require.Fail(t, "not mounted", "%s in %s", path, service.Name)
	return ""
}

func TestPrometheusScrapesTheServicesOfTheStackAndLoadsItsRules(t *testing.T) {
	project := stack(t)
	prometheus := project.Services["prometheus"]
	var file struct {
		RuleFiles []string `yaml:"rule_files"`
		Storage   struct {
			TSDB struct {
				Retention struct{ Time, Size string }
			} `yaml:"tsdb"`
		}
		ScrapeConfigs []struct {
			JobName      string `yaml:"job_name"`
			DNSSDConfigs []struct {
				Names []string
				Type  string
				Port  int
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	readDeployed(t, "prometheus/prometheus.yml", &file)
	var scraped []string
	for _, job := range file.ScrapeConfigs {
		scraped = append(scraped, job.JobName)
		service, known := project.Services[job.JobName]
		require.True(t, known, "there is no service %s", job.JobName)
		require.Len(t, job.DNSSDConfigs, 1, job.JobName)
		discovery := job.DNSSDConfigs[0]
		require.Equal(t, []string{job.JobName}, discovery.Names, "the alert rules know services by their job")
		require.Equal(t, "A", discovery.Type)
		require.Equal(t, project.Networks["metrics"].Ipam.Config[0].Subnet+":"+strconv.Itoa(discovery.Port),
			environment(service)["LIVEGRAPH_METRICS_LISTEN"], "in the network of metrics alone")
		require.True(t, shareNetwork(prometheus, service))
	}
	require.ElementsMatch(t, livegraph, scraped, "a process that is not scraped has no metrics and raises no alert")

	path := wordAfter(t, strings.Join(prometheus.Command, " "), "--config.file=")
	require.FileExists(t, sourceOfMount(t, prometheus, path))
	require.NotEmpty(t, file.RuleFiles)
	for _, rules := range file.RuleFiles {
		require.FileExists(t, sourceOfMount(t, prometheus, filepath.Join(filepath.Dir(path), rules)))
	}
	require.Regexp(t, `^\d+d$`, file.Storage.TSDB.Retention.Time)
	require.Regexp(t, `^\d+GB$`, file.Storage.TSDB.Retention.Size)
	require.NotRegexp(t, "retention|enable-admin-api|enable-lifecycle", strings.Join(prometheus.Command, " "))
}

func TestGrafanaIsProvisioned(t *testing.T) {
	project := stack(t)
	grafana := project.Services["grafana"]
	settings := environment(grafana)
	provisioning := sourceOfMount(t, grafana, "/etc/grafana/provisioning")
	sources, err := filepath.Glob(filepath.Join(provisioning, "datasources/*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, path := range sources {
		var file struct {
			Datasources []struct{ UID, Type, URL string }
		}
		readDeployed(t, "grafana/provisioning/datasources/"+filepath.Base(path), &file)
		require.NotEmpty(t, file.Datasources)
		for _, source := range file.Datasources {
			if source.Type == "prometheus" {
				require.Equal(t, "http://prometheus:9090", source.URL)
				require.Contains(t, grafana.DependsOn, "prometheus")
				require.True(t, shareNetwork(grafana, project.Services["prometheus"]))
				continue
			}
			// a plugin, which the image does not contain
			plugin := `(^|,)` + regexp.QuoteMeta(source.Type) + `@\d+\.\d+\.\d+(,|$)`
			require.Regexp(t, plugin, settings["GF_PLUGINS_PREINSTALL_SYNC"])
			require.Equal(t, "$LIVEGRAPH_URL", source.URL)
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, variable := range regexp.MustCompile(`\$(LIVEGRAPH_\w+)`).FindAllStringSubmatch(string(content), -1) {
			require.Contains(t, settings, variable[1])
		}
	}
	var file struct {
		Providers []struct {
			Options struct{ Path string }
		}
	}
	readDeployed(t, "grafana/provisioning/dashboards/livegraph.yml", &file)
	require.Len(t, file.Providers, 1)
	dashboards, err := filepath.Glob(filepath.Join(sourceOfMount(t, grafana, file.Providers[0].Options.Path), "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, dashboards)
	_, port, err := net.SplitHostPort(environment(project.Services[apiService])["LIVEGRAPH_LISTEN"])
	require.NoError(t, err)
	require.Equal(t, "http://"+apiService+":"+port, settings["LIVEGRAPH_URL"])
	require.Equal(t, canary("GRAFANA_LIVEGRAPH_KEY"), settings["LIVEGRAPH_API_KEY"])
}
