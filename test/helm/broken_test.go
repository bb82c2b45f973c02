package helm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestABrokenRuleIsReported breaks the rendered objects in each way that a rule covers.
func TestABrokenRuleIsReported(t *testing.T) {
	for _, broken := range []struct{ from, to, want string }{
		{"automountServiceAccountToken: false", "automountServiceAccountToken: true", "mounts a token"},
		{"enableServiceLinks: false", "enableServiceLinks: true", "has variables of Services"},
		{"runAsUser: 10001", "runAsUser: 0", "does not run as user 10001"},
		{"type: RuntimeDefault", "type: Unconfined", "has no seccomp profile"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "has privileges"},
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "has privileges"},
		{"drop: [ALL]", "drop: [NET_RAW]", "has capabilities"},
		{"drop: [ALL]", "{add: [NET_ADMIN], drop: [ALL]}", "has capabilities"},
		{"terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 20", "less than 30 s"},
		{"seconds: 5", "seconds: 17", "takes 30s to end"},
		{"preStop:", "postStart:", "does not wait for the endpoints"},
		{"path: /readyz", "path: /healthz", "has no probe of /readyz"},
		{"failureThreshold: 60", "failureThreshold: 6", "less than 90 s to start"},
		{"args: [serve]", "args: [serve, --demo]", "runs [serve --demo]"},
		{"GOMEMLIMIT\n              value: ", "GOMEMLIMIT\n              value: 1", "has GOMEMLIMIT"},
		{"cpu: 500m", "ephemeral-storage: 1Gi", "requests no cpu"},
		{"LIVEGRAPH_KAFKA_BROKERS", "LIVEGRAPH_KAFKA_BROKER", "which is not a setting"},
		{"name: GOMEMLIMIT", "name: GOGC", "sets GOGC"},
		{"LIVEGRAPH_REDIS_URL", "LIVEGRAPH_KAFKA_REPLICATION", "sets LIVEGRAPH_KAFKA_REPLICATION twice"},
		{"$(REDIS_PASSWORD)", "$(CLICKHOUSE_PASSWORDS)", "refers to CLICKHOUSE_PASSWORDS"},
		{"$(REDIS_PASSWORD)", "hunter2", "has a password in LIVEGRAPH_REDIS_URL"},
		{"name: LIVEGRAPH_LOG_LEVEL", "name: LIVEGRAPH_MILVUS_TOKEN", "has the value of LIVEGRAPH_MILVUS_TOKEN"},
		{"mountPath: /var/lib/livegraph", "mountPath: /data", "has no data directory"},
		{"sizeLimit: 256Mi", "medium: Memory", "volume tmp without a limit"},
		{"mountPath: /etc/livegraph/kafka-ca", "mountPath: /etc/livegraph/kafka", "kafka-ca/ca.crt, which is not mounted"},
		{"name: milvus-ca\n          secret", "name: milvus\n          secret", "mounts milvus-ca, which it has not"},
		{"maxUnavailable: 0", "maxUnavailable: 1", "stops pods before their successors"},
		{"maxSurge: 1", "maxSurge: 0", "stops pods before their successors"},
		{"livegraph/metrics: \"true\"\n  ports", "livegraph/metrics: \"yes\"\n  ports", "selects no pod"},
		{"targetPort: otlp-grpc", "targetPort: grpc", "leads to port grpc"},
		{"kind: PodDisruptionBudget\nmetadata:\n  name: livegraph-lg-api", "kind: PodDisruptionBudget\nmetadata:\n  name: a",
			"has no PodDisruptionBudget"},
		{"kind: StatefulSet\n    name", "kind: Deployment\n    name", "which does not exist"},
		{"  podManagementPolicy: Parallel", "  replicas: 1", "and the autoscaler set the replicas"},
		{"  replicas: 1", "", "has no number of replicas"},
		{"livegraph_kafka_reader_lag_records", "livegraph_kafka_lag", "which is not a metric"},
		{"              group: livegraph-points", "              consumer: livegraph-points", "selects label consumer"},
		{"policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]", "0 NetworkPolicies deny"},
		{
			"      from:\n        - namespaceSelector:\n            matchLabels:\n              kubernetes.io/metadata.name: " +
				"monitoring", "", "opens the metrics",
		},
	} {
		all := strings.Join(manifests(t, load(t), valuesOf(t, "everything")), "---\n")
		require.Contains(t, all, broken.from)
		var changed []runtime.Object
		for text := range strings.SplitSeq(strings.ReplaceAll(all, broken.from, broken.to), "---\n") {
			object, err := decode(text)
			require.NoError(t, err, broken.to)
			changed = append(changed, object)
		}
		require.Contains(t, strings.Join(check(t, changed), "\n"), broken.want, "%s instead of %s", broken.to, broken.from)
	}
}
