package helm

import (
	"fmt"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// foreign are the groups of operators that publish no types as a Go module. Their objects are decoded
// without types.
var foreign = map[string]string{
	"kafka.strimzi.io/v1":        "Kafka KafkaNodePool KafkaUser",
	"clickhouse.altinity.com/v1": "ClickHouseInstallation",
	"postgresql.cnpg.io/v1":      "Cluster",
}

// decoder decodes the objects of Kubernetes and of the Prometheus operator, and refuses unknown and
// repeated fields.
func decoder() (*json.Serializer, *runtime.Scheme) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kubernetes.AddToScheme, monitoring.AddToScheme} {
		if err := add(types); err != nil {
			panic(err)
		}
	}
	options := json.SerializerOptions{Yaml: true, Strict: true}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, types, types, options), types
}

// decode decodes an object, validates it, and checks its name and its labels.
func decode(text string) (runtime.Object, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return nil, err
	}
	var object runtime.Object
	if kinds, ok := foreign[head.APIVersion]; ok {
		if !strings.Contains(" "+kinds+" ", " "+head.Kind+" ") {
			return nil, fmt.Errorf("%s has no kind %s", head.APIVersion, head.Kind)
		}
		content := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(text), &content); err != nil {
			return nil, err
		}
		object = &unstructured.Unstructured{Object: content}
	} else {
		serializer, _ := decoder()
		decoded, _, err := serializer.Decode([]byte(text), nil, nil)
		if err != nil {
			return nil, err
		}
		kind := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
		if kind.Group != monitoring.SchemeGroupVersion.Group {
			if err := oldest.validate(kind, text); err != nil {
				return nil, err
			}
		}
		object = decoded
	}
	return object, checkMetadata(object, head.Kind)
}

func checkMetadata(object runtime.Object, kind string) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	problems := validation.IsDNS1123Subdomain(accessor.GetName())
	switch kind {
	case "Service":
		problems = validation.IsDNS1035Label(accessor.GetName())
	case "Deployment", "StatefulSet", "Job": // their pods have the name as a label
		problems = validation.IsDNS1123Label(accessor.GetName())
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s %q: %s", kind, accessor.GetName(), problems)
	}
	if accessor.GetNamespace() != namespace {
		return fmt.Errorf("%s %q is in namespace %q", kind, accessor.GetName(), accessor.GetNamespace())
	}
	return metavalidation.ValidateLabels(accessor.GetLabels(), field.NewPath("metadata", "labels")).ToAggregate()
}

// objects returns the decoded objects of a case.
func objects(t *testing.T, values map[string]any) (found []runtime.Object) {
	t.Helper()
	for _, text := range manifests(t, load(t), values) {
		object, err := decode(text)
		require.NoError(t, err, text)
		found = append(found, object)
	}
	return found
}

func TestEveryObjectIsOneOfTheKubernetesAPI(t *testing.T) {
	kinds := map[string]int{}
	for _, name := range cases {
		identities := map[string]bool{}
		for _, object := range objects(t, valuesOf(t, name)) {
			accessor, err := meta.Accessor(object)
			require.NoError(t, err)
			kind := object.GetObjectKind().GroupVersionKind()
			identity := kind.String() + " " + accessor.GetName()
			require.False(t, identities[identity], "%s: two of %s", name, identity)
			identities[identity] = true
			kinds[kind.Kind]++
		}
	}
	for _, kind := range []string{
		"Deployment", "StatefulSet", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy", "Job",
		"Ingress", "ServiceMonitor", "PrometheusRule", "Kafka", "KafkaNodePool", "KafkaUser", "ClickHouseInstallation",
		"Cluster",
	} {
		require.Positive(t, kinds[kind], "no case renders a %s", kind)
	}
}

// TestADifferenceFromTheAPIIsReported breaks each kind of object.
func TestADifferenceFromTheAPIIsReported(t *testing.T) {
	all := strings.Join(manifests(t, load(t), valuesOf(t, "everything")), "---\n")
	for _, broken := range []struct{ from, to, want string }{
		{"readinessProbe:", "readynessProbe:", `unknown field "spec.template.spec.containers[0].readynessProbe"`},
		{"minReadySeconds: 5", `minReadySeconds: "5"`, "minReadySeconds of type int32"},
		{"minReplicas: 2", "minReplicas: two", "minReplicas of type int32"},
		{"averageValue: \"2000\"", "averageValue: many", "quantities must match"},
		{"unhealthyPodEvictionPolicy: AlwaysAllow", "evictionPolicy: AlwaysAllow", "unknown field"},
		{"policyTypes: [Ingress, Egress]", "policyTypes: Ingress", "NetworkPolicySpec.spec.policyTypes"},
		{"backoffLimit: 3", "backoffLimit: 3\n  backoffLimit: 4", `"backoffLimit" already set`},
		{"pathType: Prefix", "type: Prefix", "unknown field"},
		{"            pathType: Prefix\n", "", "missing property 'pathType'"},
		{"publishNotReadyAddresses: true", "publishNotReadyAddresses: 1", "publishNotReadyAddresses of type bool"},
		{"scrapeTimeout: 10s", "scrapeTimeouts: 10s", "unknown field"},
		{"kind: ServiceMonitor", "kind: ServiceMonitors", "no kind \"ServiceMonitors\""},
		{"apiVersion: autoscaling/v2", "apiVersion: autoscaling/v2beta2", "no kind"},
		{"name: livegraph-lg-api", "name: livegraph_lg_api", "lowercase"},
		{"team: data", "team: a b", "metadata.labels"},
	} {
		require.Contains(t, all, broken.from)
		reported := ""
		for text := range strings.SplitSeq(strings.ReplaceAll(all, broken.from, broken.to), "---\n") {
			if _, err := decode(text); err != nil {
				reported += err.Error()
			}
		}
		require.Contains(t, reported, broken.want, "%s instead of %s", broken.to, broken.from)
	}
}

// TestEveryKindHasAnOldEnoughVersion checks that no object requires a newer Kubernetes than the chart does.
func TestEveryKindHasAnOldEnoughVersion(t *testing.T) {
	stable := map[string]bool{"v1": true, "v2": true}
	_, types := decoder()
	for _, name := range cases {
		for _, object := range objects(t, valuesOf(t, name)) {
			kind := object.GetObjectKind().GroupVersionKind()
			require.True(t, stable[kind.Version], "%s is not stable", kind)
			if _, ok := foreign[schema.GroupVersion{Group: kind.Group, Version: kind.Version}.String()]; !ok {
				require.True(t, types.Recognizes(kind))
			}
		}
	}
}
