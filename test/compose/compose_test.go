package compose

import (
	"encoding/json"
	"flag"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// update rewrites the golden file: go test ./test/compose -run Golden -update.
var update = flag.Bool("update", false, "rewrite the golden file")

// TestTheResolvedStackGolden compares testdata/stack.yml with the stack as Docker Compose resolves it,
// with every profile and a canary for each password, so that every change of the stack is visible
// there. The rules below are for properties that an update of the golden file must not change, and for
// agreement with other files.
func TestTheResolvedStackGolden(t *testing.T) {
	const path = "testdata/stack.yml"
	resolved, err := stack(t).MarshalYAML()
	require.NoError(t, err)
	repository, err := filepath.Abs(root)
	require.NoError(t, err)
	got := strings.ReplaceAll(string(resolved), repository, "/repository")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	before, after := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(before), len(after)) { // the first difference only; all of them would not fit on the screen
		require.Equal(t, before[i], after[i], "line %d; then: go test ./test/compose -run Golden -update", i+1)
	}
	require.Len(t, after, len(before))
}

func TestTheMonitorsAreAProfileOfTheirOwn(t *testing.T) {
	plain, err := loadProfiles(t, filledExample(t, nil))
	require.NoError(t, err)
	require.ElementsMatch(t, append(plain.ServiceNames(), monitors...), stack(t).ServiceNames())
}

// missing is the error of loading when a password is not set.
const missing = "is missing a value: see deploy/.env.example"

func TestNothingLoadsWithoutThePasswords(t *testing.T) {
	_, err := load(t, example(t))
	require.ErrorContains(t, err, missing, "the example has no passwords")
	for _, name := range passwords(t) {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, filledExample(t, map[string]string{name: ""}))
			require.ErrorContains(t, err, "required variable "+name+" "+missing)
			variables := filledExample(t, nil)
			delete(variables, name)
			_, err = load(t, variables)
			require.ErrorContains(t, err, "required variable "+name+" "+missing)
		})
	}
}

func TestTheExampleEnvironmentHasEveryVariableAndNoOther(t *testing.T) {
	var required []string
	used := variablesUsed(t)
	for name, v := range used {
		if v.Required {
			required = append(required, name)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(used)), slices.Collect(maps.Keys(example(t))))
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

// rules apply to every service, each as a test case of its own.
var rules = map[string]func(t *testing.T, project *types.Project, s types.ServiceConfig){
	"has no rights it does not need":                        hasFewRights,
	"has an image of an exact version":                      isPinned,
	"has a health check and waits for healthy services":     isChecked,
	"keeps its data in a volume of its own":                 hasDataVolume,
	"is bounded":                                            isBounded,
	"has its secrets from the environment":                  hasSecretsFromTheEnvironment,
	"is reached only where it is meant to":                  hasRestrictedNetwork,
	"has no Livegraph setting that does not exist":          hasKnownSettings,
	"reaches what its environment names, and nobody else's": canReachDependencies,
}

func TestEveryService(t *testing.T) {
	project := stack(t)
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		t.Run(rule, func(t *testing.T) {
			forEachService(t, project, func(t *testing.T, _ string, s types.ServiceConfig) { rules[rule](t, project, s) })
		})
	}
}

func hasFewRights(t *testing.T, _ *types.Project, s types.ServiceConfig) {
	require.Equal(t, []string{"ALL"}, s.CapDrop)
	if slices.Contains([]string{"clickhouse", "postgres", "redis"}, s.Name) {
		// Their entry points change the owner of the volume to their user and switch to this user.
		require.Equal(t, []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}, s.CapAdd)
	} else {
		require.Empty(t, s.CapAdd)
	}
	require.Contains(t, s.SecurityOpt, "no-new-privileges:true")
	require.False(t, s.Privileged)
	require.Empty(t, s.Pid)
	require.NotRegexp(t, `^(root|0)(:|$)`, s.User)
	written := []string{"kafka", "clickhouse", "milvus", "minio"} // their images write outside of their volumes
	require.Equal(t, !slices.Contains(written, s.Name), s.ReadOnly)
	for _, v := range s.Volumes {
		if v.Type == types.VolumeTypeBind {
			require.True(t, v.ReadOnly, v.Target)
			require.DirExists(t, v.Source)
		}
	}
}

// exactVersion matches a tag of a single release: 4.3.1, 18.6-trixie, v2.4.24,
// RELEASE.2024-12-18T13-15-44Z.
var exactVersion = regexp.MustCompile(
	`^(v?\d+\.\d+(\.\d+)*(-[a-z]+[\d.]*)*|RELEASE\.\d{4}(-\d{2}){2}T\d{2}(-\d{2}){2}Z)$`,
)

// tagOf returns an image's tag: the text after the last colon that follows the last slash.
func tagOf(image string) string {
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}

func isPinned(t *testing.T, _ *types.Project, s types.ServiceConfig) {
	if s.Build == nil {
		require.Regexp(t, exactVersion, tagOf(s.Image), s.Image)
		return
	}
	require.Contains(t, append(slices.Clone(livegraph), embedderService), s.Name, "others are built here")
	project, err := load(t, filledExample(t, map[string]string{"IMAGE_VERSION": "1.2.3"}))
	require.NoError(t, err)
	require.Equal(t, "1.2.3", tagOf(project.Services[s.Name].Image))
}

func TestATagThatMovesIsNoExactVersion(t *testing.T) {
	for _, tag := range []string{"", "latest", "18", "alpine", "nonroot", "v2", "stable-1"} {
		require.NotRegexp(t, exactVersion, tag)
	}
}

func isChecked(t *testing.T, project *types.Project, s types.ServiceConfig) {
	check := s.HealthCheck
	require.NotNil(t, check)
	require.False(t, check.Disable)
	require.Greater(t, len(check.Test), 1)
	require.Contains(t, []string{"CMD", "CMD-SHELL"}, check.Test[0])
	require.False(t, check.Interval == nil || check.Timeout == nil || check.Retries == nil || check.StartPeriod == nil)
	require.LessOrEqual(t, time.Duration(*check.Timeout), time.Duration(*check.Interval))
	for other, on := range s.DependsOn {
		require.Equal(t, types.ServiceConditionHealthy, on.Condition, "on %s", other)
		require.True(t, on.Required, "on %s", other)
		require.Contains(t, project.Services, other)
		require.False(t, slices.Contains(monitors, other) && !slices.Contains(monitors, s.Name),
			"%s would not start without the profile", s.Name)
	}
	if slices.Contains(livegraph, s.Name) {
		for _, engine := range []string{"kafka", "clickhouse", "postgres", "redis", "milvus", embedderService} {
			require.Contains(t, s.DependsOn, engine)
		}
	}
	if slices.Contains(consumerServices, s.Name) {
		require.Contains(t, s.DependsOn, apiService, "the API goes first: first-run.json is in its volume")
	}
}

// dataFolders are the folders in which the images store their data.
var dataFolders = map[string]string{
	"kafka": "/var/lib/kafka/data", "clickhouse": "/var/lib/clickhouse", "postgres": "/var/lib/postgresql",
	"redis": "/data", "milvus": "/var/lib/milvus", "etcd": "/etcd", "minio": "/minio_data",
	apiService: "/var/lib/livegraph", "prometheus": "/prometheus", "grafana": "/var/lib/grafana",
}

func hasDataVolume(t *testing.T, project *types.Project, s types.ServiceConfig) {
	if slices.Contains(consumerServices, s.Name) || s.Name == embedderService {
		require.Empty(t, s.Volumes, "it keeps nothing")
		return
	}
	require.Contains(t, dataFolders, s.Name, "name the folder in which the new service keeps its data")
	kept := slices.DeleteFunc(slices.Clone(s.Volumes), func(v types.ServiceVolumeConfig) bool {
		return v.Type == types.VolumeTypeBind
	})
	require.Len(t, kept, 1)
	require.Equal(t, types.VolumeTypeVolume, kept[0].Type)
	require.Equal(t, dataFolders[s.Name], kept[0].Target)
	require.False(t, kept[0].ReadOnly)
	require.Contains(t, project.Volumes, kept[0].Source)
	require.Equal(t, 1, strings.Count(resolvedStack(t), "source: "+kept[0].Source+"\n"), "two services in one volume")
	require.Len(t, project.Volumes, len(dataFolders), "a volume that nobody uses")
	// If the folder is a setting, it must be the volume's.
	configured := map[string]string{
		"kafka": environment(s)["KAFKA_LOG_DIRS"], "minio": strings.Join(s.Command, " "),
		"etcd":       strings.Join(s.Command, " "),
		"prometheus": strings.Join(s.Command, " "), "redis": project.Configs["valkey"].Content,
		apiService: environment(s)["LIVEGRAPH_DATA_DIR"],
	}
	if setting, ok := configured[s.Name]; ok {
		require.Contains(t, setting, dataFolders[s.Name])
	}
}

func resolvedStack(t *testing.T) string {
	resolved, err := stack(t).MarshalYAML()
	require.NoError(t, err)
	return string(resolved)
}

func isBounded(t *testing.T, project *types.Project, s types.ServiceConfig) {
	require.NotNil(t, s.Deploy)
	require.NotNil(t, s.Deploy.Resources.Limits)
	limit := int64(s.Deploy.Resources.Limits.MemoryBytes)
	require.Positive(t, s.Deploy.Resources.Limits.NanoCPUs.Value(), "no limit of CPUs")
	require.Positive(t, limit, "no limit of memory")
	require.NotNil(t, s.Logging)
	require.NotEmpty(t, s.Logging.Options["max-size"], "logs without bound")
	require.NotEmpty(t, s.Logging.Options["max-file"], "logs without bound")
	require.Equal(t, types.RestartPolicyUnlessStopped, s.Restart)
	setting := environment(s)["GOMEMLIMIT"]
	switch s.Name {
	case "kafka":
		setting = wordAfter(t, environment(s)["KAFKA_HEAP_OPTS"], "-Xmx")
	case "redis":
		setting = wordAfter(t, project.Configs["valkey"].Content, "maxmemory ")
	case "postgres":
		setting = wordAfter(t, strings.Join(s.Command, " "), "shared_buffers=")
	}
	if setting == "" {
		require.NotContains(t, append(slices.Clone(livegraph), "grafana"), s.Name)
		return
	}
	bytes := types.UnitBytes(0)
	require.NoError(t, bytes.DecodeMapstructure(strings.Replace(strings.ToLower(setting), "ib", "b", 1)))
	require.LessOrEqual(t, int64(bytes), limit*9/10, "what it allows itself leaves no room below the limit")
	require.Greater(t, int64(bytes), limit/8)
}

// wordAfter returns the word that follows prefix.
func wordAfter(t *testing.T, text, prefix string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, prefix)
	require.True(t, found, "no %q in %q", prefix, text)
	return strings.Fields(rest)[0]
}

func hasSecretsFromTheEnvironment(t *testing.T, project *types.Project, s types.ServiceConfig) {
	secret := regexp.MustCompile(`(?i)(password|secret|auth|token|_key)$`)
	for name, value := range environment(s) {
		if secret.MatchString(name) {
			require.Regexp(t, `^canary0\w+$`, value, "%s is written into the file", name)
		}
		if _, userinfo, _ := strings.Cut(value, "://"); strings.Contains(userinfo, "@") {
			require.Regexp(t, `^[a-z]+://\w*:canary0\w+@`, value, "%s has a password of its own", name)
		}
		require.NotContains(t, name, "AUTH_ANONYMOUS", "nobody looks without a login")
	}
	require.Empty(t, s.EnvFiles)
	for _, config := range s.Configs {
		for line := range strings.Lines(project.Configs[config.Source].Content) {
			if setting, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(setting, "pass") {
				require.Regexp(t, `^canary0\w+$`, value, "config %s", config.Source)
			}
		}
	}
	// These are visible in a list of processes or images.
	visible, err := json.Marshal([]any{s.Command, s.Entrypoint, s.HealthCheck, s.Build, s.Labels})
	require.NoError(t, err)
	require.NotContains(t, string(visible), "canary0", "others can see a password")
}

// outboundNetwork leads to the Alertmanagers and webhooks that tenants name.
const outboundNetwork = "outbound"

// published are the services with a port on this machine.
var published = map[string]string{apiService: "8080", "prometheus": "9090", "grafana": "3000"}

func hasRestrictedNetwork(t *testing.T, project *types.Project, s types.ServiceConfig) {
	require.Empty(t, s.NetworkMode)
	require.NotEmpty(t, s.Networks)
	for network := range s.Networks {
		require.Contains(t, project.Networks, network)
		outward := published[s.Name] != "" || s.Name == rulesService && network == outboundNetwork
		require.True(t, project.Networks[network].Internal || outward, "on %s", network)
	}
	if published[s.Name] == "" {
		require.Empty(t, s.Ports)
	} else {
		require.Len(t, s.Ports, 1)
		require.True(t, net.ParseIP(s.Ports[0].HostIP).IsLoopback(), "published on %q", s.Ports[0].HostIP)
		require.Equal(t, published[s.Name], s.Ports[0].Published)
	}
	if slices.Contains(monitors, s.Name) {
		require.Equal(t, []string{monitoring}, s.Profiles)
	} else {
		require.Empty(t, s.Profiles, "it is left out of `make up`")
	}
}

// allowedPeers lists which services may share a network with services that have no password or that
// read content of tenants.
var allowedPeers = map[string][]string{
	"etcd": {"milvus", "etcd", "minio"}, "minio": {"milvus", "etcd", "minio"},
	embedderService: append(slices.Clone(livegraph), embedderService),
	"prometheus":    append(slices.Clone(livegraph), monitors...), "grafana": append(slices.Clone(livegraph), monitors...),
}

func canReachDependencies(t *testing.T, project *types.Project, s types.ServiceConfig) {
	address := regexp.MustCompile(`(?:^|[@/,])([a-z][a-z-]*):(\d+)`)
	for variable, value := range environment(s) {
		for _, match := range address.FindAllStringSubmatch(value, -1) {
			other, known := project.Services[match[1]]
			if !known || match[1] == s.Name {
				continue
			}
			require.True(t, shareNetwork(s, other), "%s cannot reach %s", s.Name, match[1])
			if variable != "LIVEGRAPH_URL" { // Grafana also starts without a running API
				require.Contains(t, s.DependsOn, match[1], "%s=%s", variable, value)
			}
		}
	}
	for name, other := range project.Services {
		if few, ok := allowedPeers[s.Name]; ok && shareNetwork(s, other) {
			require.Contains(t, few, name, "shares a network with %s", s.Name)
		}
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

func TestTheSmokeScriptStatesThatItIsNotPartOfTheSuite(t *testing.T) {
	script, err := os.ReadFile(root + "/deploy/smoke.sh")
	require.NoError(t, err)
	require.Contains(t, string(script), "not run by the test suite")
	require.Contains(t, string(script), "Run it on a machine with Docker")
	require.Contains(t, string(script), "--project-name livegraph-smoke", "it must not touch the real stack")
	info, err := os.Stat(root + "/deploy/smoke.sh")
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100, "not executable")
}
