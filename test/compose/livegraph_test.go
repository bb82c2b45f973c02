package compose

import (
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
)

// consumerGrace is what the points consumer takes at most to store what it holds,
// after the API's own shutdown.
const consumerGrace = 5 * time.Second

// settings returns the environment variables of every setting of a configuration.
func settings(of reflect.Type) map[string]bool {
	names := map[string]bool{}
	for i := range of.NumField() {
		field := of.Field(i)
		if name := field.Tag.Get("env"); name != "" {
			names[name] = true
		} else if field.Type.Kind() == reflect.Struct {
			maps.Copy(names, settings(field.Type))
		}
	}
	return names
}

// ofClients are the variables of a client of the API, which Grafana is.
var ofClients = []string{"LIVEGRAPH_URL", "LIVEGRAPH_API_KEY", "LIVEGRAPH_WORKSPACE_ID"}

func TestEverySettingOfLivegraphExists(t *testing.T) {
	known := settings(reflect.TypeFor[config.Config]())
	require.Contains(t, known, "LIVEGRAPH_LISTEN")
	require.Contains(t, known, "LIVEGRAPH_KAFKA_BROKERS")
	project := stack(t)
	each(t, project, func(t *testing.T, name string, service types.ServiceConfig) {
		for variable := range service.Environment {
			if name == "grafana" && slices.Contains(ofClients, variable) {
				continue
			}
			if strings.HasPrefix(variable, "LIVEGRAPH_") {
				require.Contains(t, known, variable)
				require.Contains(t, livegraph, name)
			}
		}
	})
	for variable := range example(t) {
		if strings.HasPrefix(variable, "LIVEGRAPH_") {
			require.Contains(t, known, variable, "in the example environment")
		}
	}
	for variable := range imageEnvironment(t, dockerfile) {
		require.Contains(t, known, variable, "in the Dockerfile")
	}
}

// parsed reads a service's settings as the binary does.
func parsed(t *testing.T, service types.ServiceConfig) *config.Config {
	t.Helper()
	for name := range settings(reflect.TypeFor[config.Config]()) {
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
	for name, roles := range map[string][]string{
		apiService: {"api"}, pointsService: {"points"}, commandsService: {"commands", "audit"}, indexService: {"embeddings"},
	} {
		t.Run(name, func(t *testing.T) {
			service := project.Services[name]
			cfg := parsed(t, service)
			require.Equal(t, roles, cfg.Roles)
			require.Equal(t, []string{"kafka:9092"}, cfg.Kafka.Brokers)
			require.EqualValues(t, 1, cfg.Kafka.Replication)
			require.EqualValues(t, 8, cfg.Kafka.PointsPartitions)
			require.EqualValues(t, 8, cfg.Kafka.CommandsPartitions)
			require.EqualValues(t, 2<<30, cfg.Kafka.RetentionBytes)
			require.Equal(t, "milvus:19530", cfg.Milvus.Address)
			require.Equal(t, "http://embedder:8080/v1", cfg.Embedder.At)
			require.Equal(t, canary("EMBEDDER_PASSWORD"), cfg.Embedder.Key.Reveal())
			require.Equal(t, embedded.EmbedderModel, cfg.Embedder.Model)
			require.Equal(t, embedded.EmbedderDimensions, cfg.Embedder.Dimensions)
			require.True(t, cfg.Embedder.AllowPrivateAddresses)
			require.Empty(t, cfg.API.CORSOrigins)
			require.Empty(t, cfg.API.TrustedProxies)
			for _, store := range []struct {
				url                          config.Secret
				scheme, user, password, host string
			}{
				{cfg.ClickHouse.URL, "clickhouse", "livegraph", canary("CLICKHOUSE_PASSWORD"), "clickhouse:9000"},
				{cfg.Postgres.URL, "postgres", "livegraph_app", canary("DATABASE_PASSWORD"), "postgres:5432"},
				{cfg.Redis.URL, "redis", "", canary("REDIS_PASSWORD"), "redis:6379"},
			} {
				u, err := url.Parse(store.url.Reveal())
				require.NoError(t, err)
				password, _ := u.User.Password()
				require.Equal(t, []string{store.scheme, store.user, store.password, store.host},
					[]string{u.Scheme, u.User.Username(), password, u.Host})
			}
			require.NotNil(t, service.StopGracePeriod)
			require.Greater(t, time.Duration(*service.StopGracePeriod), cfg.API.ShutdownTimeout+consumerGrace,
				"Docker would kill it while it stores what it holds")
		})
	}
}

func TestTheStoresHaveTheUserAndDatabaseOfTheURLs(t *testing.T) {
	project := stack(t)
	cfg := parsed(t, project.Services[apiService])
	clickhouse, postgres := environment(project.Services["clickhouse"]), environment(project.Services["postgres"])
	for at, want := range map[config.Secret][2]string{
		cfg.ClickHouse.URL: {clickhouse["CLICKHOUSE_USER"], clickhouse["CLICKHOUSE_DB"]},
		// no superuser: see TestTheApplicationOwnsItsDatabaseAndIsNoSuperuser
		cfg.Postgres.URL: {"livegraph_app", postgres["POSTGRES_DB"]},
	} {
		u, err := url.Parse(at.Reveal())
		require.NoError(t, err)
		require.Equal(t, want, [2]string{u.User.Username(), strings.TrimPrefix(u.Path, "/")})
	}
}

func TestWhatTheOperatorSetsReachesLivegraph(t *testing.T) {
	project, err := load(t, filled(t, map[string]string{
		"LIVEGRAPH_API_PUBLIC_URL": "https://live.example.org", "LIVEGRAPH_API_TRUSTED_PROXIES": "10.0.0.0/8,192.168.0.0/16",
		"LIVEGRAPH_API_CORS_ORIGINS": "https://a.example.org", "LIVEGRAPH_LOG_LEVEL": "debug",
		"LIVEGRAPH_KAFKA_POINTS_PARTITIONS": "32", "LIVEGRAPH_KAFKA_RETENTION_BYTES": "1073741824",
	}))
	require.NoError(t, err)
	cfg := parsed(t, project.Services[apiService])
	require.Equal(t, "https://live.example.org", cfg.API.PublicURL)
	require.Equal(t, []string{"10.0.0.0/8", "192.168.0.0/16"}, cfg.API.TrustedProxies)
	require.Equal(t, []string{"https://a.example.org"}, cfg.API.CORSOrigins)
	require.Equal(t, "debug", cfg.Log.Level)
	require.EqualValues(t, 32, cfg.Kafka.PointsPartitions)
	require.EqualValues(t, 1<<30, cfg.Kafka.RetentionBytes)

	project, err = load(t, filled(t, map[string]string{"API_PORT": "9090"}))
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:9090", parsed(t, project.Services[apiService]).API.PublicURL)
}

func TestTheRolesAreTheSameImageWithTheSameRights(t *testing.T) {
	project := stack(t)
	api := project.Services[apiService]
	settings := func(service types.ServiceConfig) map[string]string {
		all := environment(service)
		for _, differs := range []string{
			"LIVEGRAPH_ROLES", "LIVEGRAPH_API_PUBLIC_URL", "LIVEGRAPH_API_CORS_ORIGINS", "LIVEGRAPH_API_TRUSTED_PROXIES",
		} {
			delete(all, differs)
		}
		return all
	}
	owner := "uid=" + strings.ReplaceAll(imageUser(t, dockerfile), ":", ",gid=")
	for _, name := range livegraph {
		service := project.Services[name]
		require.Equal(t, api.Image, service.Image)
		require.Equal(t, api.Build, service.Build)
		require.Equal(t, api.StopGracePeriod, service.StopGracePeriod)
		require.Equal(t, settings(api), settings(service))
		require.True(t, service.ReadOnly)
		require.Equal(t, []string{"ALL"}, service.CapDrop)
		require.Empty(t, service.CapAdd)
		require.Contains(t, service.SecurityOpt, "no-new-privileges:true")
		require.Empty(t, service.User, "the image's own user, which is not root")
		require.Empty(t, service.Command)
		require.Empty(t, service.Entrypoint)
		if name == apiService {
			continue
		}
		require.True(t, slices.ContainsFunc(service.Tmpfs, func(mount string) bool {
			return strings.HasPrefix(mount, settings(api)["LIVEGRAPH_DATA_DIR"]+":") && strings.HasSuffix(mount, owner)
		}), "the data directory of a consumer must be the image user's (%s): %v", owner, service.Tmpfs)
	}

	payload, err := os.ReadFile(composeFile)
	require.NoError(t, err)
	require.Equal(t, len(livegraph), strings.Count(string(payload), "<<: *livegraph\n"), "all are made from one anchor")
}
