package compose

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// scrapes is deploy/prometheus/prometheus.yml, as far as the compose file has to
// agree with it.
type scrapes struct {
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

// deployed reads a YAML file below deploy.
func deployed(t *testing.T, path string, into any) {
	t.Helper()
	payload, err := os.ReadFile(filepath.Join(root, "deploy", path))
	require.NoError(t, err)
	require.NoError(t, yaml.NewDecoder(bytes.NewReader(payload)).Decode(into), path)
}

// mounted returns the folder of the repository that a container sees at a path, and
// what of the path is below it.
func mounted(t *testing.T, service types.ServiceConfig, path string) string {
	t.Helper()
	for _, v := range service.Volumes {
		if below, under := strings.CutPrefix(path+"/", v.Target+"/"); under && v.Type == types.VolumeTypeBind {
			return filepath.Join(v.Source, below)
		}
	}
	require.Fail(t, "not mounted", "%s in %s", path, service.Name)
	return ""
}

func TestPrometheusScrapesTheServicesOfTheStack(t *testing.T) {
	project := stack(t)
	var file scrapes
	deployed(t, "prometheus/prometheus.yml", &file)
	prometheus := project.Services["prometheus"]
	var scraped []string
	for _, job := range file.ScrapeConfigs {
		require.Len(t, job.DNSSDConfigs, 1, job.JobName)
		at := job.DNSSDConfigs[0]
		require.Equal(t, []string{job.JobName}, at.Names, "the alert rules know services by their job")
		require.Equal(t, "A", at.Type)
		service, known := project.Services[job.JobName]
		require.True(t, known, "there is no service %s", job.JobName)
		host, port, err := net.SplitHostPort(environment(service)["LIVEGRAPH_METRICS_LISTEN"])
		require.NoError(t, err)
		subnet := project.Networks["metrics"].Ipam.Config[0].Subnet
		require.Equal(t, subnet, host, "in the network of metrics alone")
		require.Equal(t, port, strconv.Itoa(at.Port))
		require.True(t, shareNetwork(prometheus, service))
		scraped = append(scraped, job.JobName)
	}
	require.ElementsMatch(t, livegraph, scraped, "a process that is not scraped has no metrics and raises no alert")

	// What watches must not reach what it does not watch: Kafka and Milvus ask for
	// no password.
	for name, service := range project.Services {
		for _, monitor := range monitors {
			if !slices.Contains(scraped, name) && !slices.Contains(monitors, name) {
				require.False(t, shareNetwork(project.Services[monitor], service), "%s reaches %s", monitor, name)
			}
		}
	}
}

func TestPrometheusLoadsItsRulesAndKeepsABoundedPast(t *testing.T) {
	prometheus := stack(t).Services["prometheus"]
	var file scrapes
	deployed(t, "prometheus/prometheus.yml", &file)
	config := after(t, strings.Join(prometheus.Command, " "), "--config.file=")
	require.FileExists(t, mounted(t, prometheus, config))
	require.NotEmpty(t, file.RuleFiles)
	for _, rules := range file.RuleFiles {
		require.FileExists(t, mounted(t, prometheus, filepath.Join(filepath.Dir(config), rules)))
	}
	require.Regexp(t, `^\d+d$`, file.Storage.TSDB.Retention.Time)
	require.Regexp(t, `^\d+GB$`, file.Storage.TSDB.Retention.Size)
	for _, flag := range prometheus.Command {
		require.NotContains(t, flag, "retention", "a deprecated flag, which the file overrules")
		require.NotContains(t, flag, "enable-admin-api")
		require.NotContains(t, flag, "enable-lifecycle")
	}
}

func TestTheStacksPrometheusIsTheEngineThatTheRulesAreTriedWith(t *testing.T) {
	payload, err := os.ReadFile(root + "/test/promql/go.mod")
	require.NoError(t, err)
	// The module of release 3.15.0 is v0.315.0.
	match := regexp.MustCompile(`prometheus/prometheus v0\.(\d)(\d+)\.(\d+)\n`).FindStringSubmatch(string(payload))
	require.NotNil(t, match)
	minor, err := strconv.Atoi(match[2])
	require.NoError(t, err)
	require.Equal(t, "v"+match[1]+"."+strconv.Itoa(minor)+"."+match[3], tagOf(stack(t).Services["prometheus"].Image))
}

func TestGrafanaIsProvisioned(t *testing.T) {
	project := stack(t)
	grafana := project.Services["grafana"]
	settings := environment(grafana)
	provisioning := mounted(t, grafana, "/etc/grafana/provisioning")
	sources, err := filepath.Glob(filepath.Join(provisioning, "datasources/*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, path := range sources {
		var file struct {
			Datasources []struct{ UID, Type, URL string }
		}
		relative, err := filepath.Rel(filepath.Join(provisioning, "../.."), path)
		require.NoError(t, err)
		deployed(t, relative, &file)
		require.NotEmpty(t, file.Datasources)
		for _, source := range file.Datasources {
			switch source.Type {
			case "prometheus":
				require.Equal(t, "http://prometheus:9090", source.URL)
				require.Contains(t, grafana.DependsOn, "prometheus")
				require.True(t, shareNetwork(grafana, project.Services["prometheus"]))
			default: // a plugin, which the image does not have
				require.Regexp(
					t, `(^|,)`+regexp.QuoteMeta(source.Type)+`@\d+\.\d+\.\d+(,|$)`, settings["GF_PLUGINS_PREINSTALL_SYNC"],
				)
				require.Equal(t, "$LIVEGRAPH_URL", source.URL)
			}
		}
	}
	var file struct {
		Providers []struct {
			Options struct{ Path string }
		}
	}
	deployed(t, "grafana/provisioning/dashboards/livegraph.yml", &file)
	require.Len(t, file.Providers, 1)
	dashboards, err := filepath.Glob(filepath.Join(mounted(t, grafana, file.Providers[0].Options.Path), "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, dashboards)

	require.Equal(t, canary("GRAFANA_PASSWORD"), settings["GF_SECURITY_ADMIN_PASSWORD"])
	require.Equal(t, "http://127.0.0.1:3000/", settings["GF_SERVER_ROOT_URL"])
	for name := range settings {
		require.NotContains(t, name, "AUTH_ANONYMOUS", "nobody looks without a login")
	}
}

// TestGrafanaReadsAWorkspacesDataWithTheOperatorsKey holds the variables of the
// data source, which Grafana fills in from its environment, to the compose file.
func TestGrafanaReadsAWorkspacesDataWithTheOperatorsKey(t *testing.T) {
	project := stack(t)
	grafana := project.Services["grafana"]
	settings := environment(grafana)
	payload, err := os.ReadFile(filepath.Join(
		mounted(t, grafana, "/etc/grafana/provisioning"), "datasources/livegraph-data.yml",
	))
	require.NoError(t, err)
	for _, variable := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(string(payload), -1) {
		require.Contains(t, settings, variable[1])
	}
	require.Equal(t, canary("GRAFANA_LIVEGRAPH_KEY"), settings["LIVEGRAPH_API_KEY"])
	_, port, err := net.SplitHostPort(environment(project.Services[apiService])["LIVEGRAPH_LISTEN"])
	require.NoError(t, err)
	require.Equal(t, "http://"+apiService+":"+port, settings["LIVEGRAPH_URL"])
	require.True(t, shareNetwork(grafana, project.Services[apiService]))
}

func TestMonitoringHasNoRightsItDoesNotNeed(t *testing.T) {
	project := stack(t)
	for _, name := range monitors {
		service := project.Services[name]
		require.Equal(t, []string{monitoring}, service.Profiles, name)
		require.True(t, service.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, service.CapDrop, name)
		require.Empty(t, service.CapAdd, name)
		require.Contains(t, service.SecurityOpt, "no-new-privileges:true", name)
		require.NotRegexp(t, `^(root|0)(:|$)`, service.User, name)
		for _, v := range service.Volumes {
			if v.Type == types.VolumeTypeBind {
				require.True(t, v.ReadOnly, "%s: %s", name, v.Target)
				require.DirExists(t, v.Source)
			}
		}
	}
	for name, service := range project.Services {
		if slices.Contains(monitors, name) {
			continue
		}
		require.Empty(t, service.Profiles, "%s is left out of `make up`", name)
		for _, monitor := range monitors {
			require.NotContains(t, service.DependsOn, monitor, "%s would not start without the profile", name)
		}
	}
}

func TestMonitorsArePublishedWhereTheOperatorSays(t *testing.T) {
	project, err := load(t, filled(t, map[string]string{
		"PROMETHEUS_PORT": "9991", "GRAFANA_PORT": "3333", "API_BIND": "0.0.0.0",
	}))
	require.NoError(t, err)
	for name, port := range map[string]string{"prometheus": "9991", "grafana": "3333"} {
		require.Equal(t, port, project.Services[name].Ports[0].Published)
		require.Equal(t, "127.0.0.1", project.Services[name].Ports[0].HostIP)
	}
	require.Equal(t, "http://127.0.0.1:3333/", environment(project.Services["grafana"])["GF_SERVER_ROOT_URL"])
}
