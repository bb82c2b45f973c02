package helm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// templates returns the pod templates of a rendering by the name of their workload.
func templates(t *testing.T, version string, changes ...string) map[string]core.PodTemplateSpec {
	t.Helper()
	loaded := load(t)
	loaded.Metadata.Version, loaded.Metadata.AppVersion = version, version
	found := map[string]core.PodTemplateSpec{}
	for _, text := range manifests(t, loaded, valuesOf(t, "minimum", changes...)) {
		object, err := decode(text)
		require.NoError(t, err)
		for _, w := range workloads([]runtime.Object{object}) {
			found[strings.TrimPrefix(w.name, release+"-")] = *w.template
		}
	}
	require.Len(t, found, 7)
	return found
}

func TestTheTagIsTheVersionUnlessSet(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for change, want := range map[string]string{
		`{}`:                         "livegraph/livegraph:2.3.4",
		`{image: {tag: dev}}`:        "livegraph/livegraph:dev",
		`{image: {repository: r/l}}`: "r/l:2.3.4",
		`{image: {tag: dev, digest: "` + digest + `"}}`: "livegraph/livegraph@" + digest,
	} {
		for name, template := range templates(t, "2.3.4", change) {
			require.Equal(t, want, template.Spec.Containers[0].Image, "%s with %s", name, change)
		}
	}
}

// TestOnlyRolesWithANewImageRestart covers an upgrade in two steps: first the consumers, then the API.
func TestOnlyRolesWithANewImageRestart(t *testing.T) {
	before := templates(t, "1.0.0")
	require.Equal(t, before, templates(t, "2.0.0", `{image: {tag: 1.0.0}}`), "a new chart with the same image")

	first := templates(t, "2.0.0", `{api: {tag: 1.0.0}}`)
	for name, template := range first {
		if name == "api" {
			require.Equal(t, before[name], template)
			continue
		}
		require.Equal(t, "livegraph/livegraph:2.0.0", template.Spec.Containers[0].Image, name)
	}
	second := templates(t, "2.0.0")
	require.NotEqual(t, first["api"], second["api"])
	delete(first, "api")
	delete(second, "api")
	require.Equal(t, first, second)
}

// kinds returns the number of objects of each kind.
func kinds(objects []runtime.Object) map[string]int {
	found := map[string]int{}
	for _, object := range objects {
		found[object.GetObjectKind().GroupVersionKind().Kind]++
	}
	return found
}

func TestPartsCanBeSwitchedOff(t *testing.T) {
	minimum := kinds(objects(t, valuesOf(t, "minimum")))
	require.Equal(t, map[string]int{
		"Deployment": 6, "Service": 2, "HorizontalPodAutoscaler": 5, "PodDisruptionBudget": 6, "NetworkPolicy": 3, "Job": 1,
	}, minimum)
	require.Equal(t, map[string]int{"Deployment": 6, "Service": 2}, kinds(objects(t, valuesOf(t, "minimum",
		`{migration: {enabled: false}, networkPolicy: {enabled: false}}`,
		`{api: {autoscaling: {enabled: false}, podDisruptionBudget: {enabled: false}}}`,
		`{points: {autoscaling: {enabled: false}, podDisruptionBudget: {enabled: false}}}`,
		`{commands: {autoscaling: {enabled: false}, podDisruptionBudget: {enabled: false}}}`,
		`{embeddings: {autoscaling: {enabled: false}, podDisruptionBudget: {enabled: false}}}`,
		`{audit: {autoscaling: {enabled: false}, podDisruptionBudget: {enabled: false}}}`,
		`{rules: {podDisruptionBudget: {enabled: false}}}`,
	))))
	unscraped := kinds(objects(t, valuesOf(t, "minimum", `{networkPolicy: {metrics: {from: []}}}`)))
	require.Equal(t, 2, unscraped["NetworkPolicy"])
}

// hooks returns the hooks of the Job that migrates.
func hooks(t *testing.T, values map[string]any) string {
	t.Helper()
	for _, object := range objects(t, values) {
		if job, ok := object.(*batch.Job); ok {
			return job.Annotations["helm.sh/hook"]
		}
	}
	require.Fail(t, "there is no Job")
	return ""
}

func TestTheStoresAreMigratedBeforeTheProcessesStart(t *testing.T) {
	require.Equal(t, "pre-install,pre-upgrade", hooks(t, valuesOf(t, "minimum")))
	require.Equal(t, "pre-upgrade", hooks(t, valuesOf(t, "operators")), "before an installation there are no engines")
}

// TestTheEnginesOfOperatorsAreConnected compares the names that operators give to Services and Secrets with
// those that the processes use.
func TestTheEnginesOfOperatorsAreConnected(t *testing.T) {
	all := objects(t, valuesOf(t, "operators"))
	engines := map[string]*unstructured.Unstructured{}
	for _, object := range all {
		if engine, ok := object.(*unstructured.Unstructured); ok {
			engines[engine.GetKind()] = engine
			accessor, err := meta.Accessor(object)
			require.NoError(t, err)
			require.Equal(t, "keep", accessor.GetAnnotations()["helm.sh/resource-policy"], "removing the release keeps data")
		}
	}
	field := func(kind string, path ...string) any {
		value, found, err := unstructured.NestedFieldNoCopy(engines[kind].Object, path...)
		require.True(t, found && err == nil, "%s has no %s", kind, path)
		return value
	}
	require.EqualValues(t, 3, field("KafkaNodePool", "spec", "replicas"))
	config := field("Kafka", "spec", "kafka", "config").(map[string]any)
	require.EqualValues(t, 3, config["default.replication.factor"])
	require.EqualValues(t, 2, config["min.insync.replicas"])
	cluster := engines["Kafka"].GetName()
	for _, kind := range []string{"KafkaNodePool", "KafkaUser"} {
		require.Equal(t, cluster, engines[kind].GetLabels()["strimzi.io/cluster"])
	}
	require.EqualValues(t, 3, field("Cluster", "spec", "instances"))

	for _, w := range workloads(all) {
		variables := map[string]core.EnvVar{}
		for _, v := range w.template.Spec.Containers[0].Env {
			variables[v.Name] = v
		}
		secret := func(name string) string {
			require.NotNil(t, variables[name].ValueFrom, name)
			return variables[name].ValueFrom.SecretKeyRef.Name + "/" + variables[name].ValueFrom.SecretKeyRef.Key
		}
		require.Equal(t, cluster+"-kafka-bootstrap."+namespace+".svc:9093", variables["LIVEGRAPH_KAFKA_BROKERS"].Value)
		require.Equal(t, engines["KafkaUser"].GetName(), variables["LIVEGRAPH_KAFKA_SASL_USERNAME"].Value)
		require.Equal(t, engines["KafkaUser"].GetName()+"/password", secret("LIVEGRAPH_KAFKA_SASL_PASSWORD"))
		require.Equal(t, engines["Cluster"].GetName()+"-app/uri", secret("LIVEGRAPH_POSTGRES_URL"))
		require.Equal(t, "verify-full", variables["PGSSLMODE"].Value)
		require.Equal(t, "clickhouse-login/password", secret("CLICKHOUSE_PASSWORD"))
		require.Equal(t,
			"clickhouse://livegraph:$(CLICKHOUSE_PASSWORD)@clickhouse-"+engines["ClickHouseInstallation"].GetName()+"."+
				namespace+".svc:9000/default", variables["LIVEGRAPH_CLICKHOUSE_URL"].Value)
		var secrets []string
		for _, v := range w.template.Spec.Volumes {
			if v.Secret != nil {
				secrets = append(secrets, v.Secret.SecretName)
			}
		}
		slices.Sort(secrets)
		require.Equal(t, []string{cluster + "-cluster-ca-cert", engines["Cluster"].GetName() + "-ca"}, secrets)
	}
}

func TestTheNotesNameTheFirstSteps(t *testing.T) {
	for _, name := range cases {
		output, err := render(load(t), valuesOf(t, name))
		require.NoError(t, err)
		notes := output["livegraph/templates/NOTES.txt"]
		for _, command := range []string{
			"livegraph workspaces list", "livegraph keys create", "livegraph operators password admin",
		} {
			require.Contains(t, notes, command, name)
			require.Contains(t, read(t, top+"/docs/operations.md"), command, "the documentation has no such command")
		}
	}
}
