package helm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// consumerStop is how long consumers take to store and commit their batches, after the API's shutdown
// timeout.
const consumerStop = 5 * time.Second

// workload is an object with pods.
type workload struct {
	kind, name string
	template   *core.PodTemplateSpec
	selector   *metav1.LabelSelector // nil: a Job
	replicas   *int32
	update     *apps.DeploymentStrategy // nil: not a Deployment
	claims     []core.PersistentVolumeClaim
}

func workloads(objects []runtime.Object) (found []workload) {
	for _, object := range objects {
		switch o := object.(type) {
		case *apps.Deployment:
			found = append(found, workload{
				"Deployment", o.Name, &o.Spec.Template, o.Spec.Selector, o.Spec.Replicas, &o.Spec.Strategy, nil,
			})
		case *apps.StatefulSet:
			found = append(found, workload{
				"StatefulSet", o.Name, &o.Spec.Template, o.Spec.Selector, o.Spec.Replicas, nil, o.Spec.VolumeClaimTemplates,
			})
		case *batch.Job:
			found = append(found, workload{"Job", o.Name, &o.Spec.Template, nil, nil, nil, nil})
		}
	}
	return found
}

// rules are what the types of the API do not express. Each reports problems.
type rules struct {
	objects         []runtime.Object
	settings        []string
	shutdownTimeout time.Duration
	metrics         string // docs/metrics.md
	problems        []string
}

// require adds a problem unless ok.
func (r *rules) require(ok bool, format string, args ...any) {
	if !ok {
		r.problems = append(r.problems, fmt.Sprintf(format, args...))
	}
}

// check returns the problems of all rules.
func check(t *testing.T, objects []runtime.Object) []string {
	t.Helper()
	timeout, err := time.ParseDuration(settingDefault(t, "LIVEGRAPH_API_SHUTDOWN_TIMEOUT"))
	require.NoError(t, err)
	r := rules{
		objects: objects, settings: settings(t), shutdownTimeout: timeout, metrics: read(t, top+"/docs/metrics.md"),
	}
	for _, w := range workloads(objects) {
		r.checkPod(w)
		for _, container := range w.template.Spec.Containers {
			r.checkContainer(w, container)
			r.checkVariables(w, container)
		}
		r.checkVolumes(w)
		r.checkUpdate(w)
	}
	r.checkSelectors()
	r.checkScaling()
	r.checkNetwork()
	r.checkSecrets()
	return r.problems
}

func (r *rules) checkPod(w workload) {
	spec := w.template.Spec
	r.require(len(spec.Containers) == 1 && len(spec.InitContainers) == 0, "%s has other containers", w.name)
	r.require(spec.AutomountServiceAccountToken != nil && !*spec.AutomountServiceAccountToken, "%s mounts a token", w.name)
	r.require(spec.EnableServiceLinks != nil && !*spec.EnableServiceLinks, "%s has variables of Services", w.name)
	r.require(!spec.HostNetwork && !spec.HostPID && !spec.HostIPC, "%s is in a namespace of its node", w.name)
	s := spec.SecurityContext
	r.require(
		s != nil && s.RunAsUser != nil && *s.RunAsUser == 10001 && s.RunAsNonRoot != nil && *s.RunAsNonRoot &&
			s.FSGroup != nil && *s.FSGroup == 10001,
		"%s does not run as user 10001", w.name,
	)
	r.require(
		s != nil && s.SeccompProfile != nil && s.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault,
		"%s has no seccomp profile", w.name,
	)
	if w.kind == "Job" {
		return
	}
	r.require(len(spec.TopologySpreadConstraints) > 0, "%s is not spread", w.name)
	for _, c := range spec.TopologySpreadConstraints {
		r.require(matches(c.LabelSelector, w.template.Labels), "%s is spread among other pods", w.name)
	}
	grace := spec.TerminationGracePeriodSeconds
	r.require(grace != nil && *grace >= 30, "%s has less than 30 s to end", w.name)
	for _, c := range spec.Containers {
		hasSleep := c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil
		r.require(hasSleep, "%s does not wait for the endpoints before SIGTERM", w.name)
		if hasSleep && grace != nil {
			needed := time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second + r.shutdownTimeout + consumerStop
			r.require(time.Duration(*grace)*time.Second > needed, "%s takes %s to end", w.name, needed)
		}
	}
}

func (r *rules) checkContainer(w workload, c core.Container) {
	s := c.SecurityContext
	r.require(
		s != nil && s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem &&
			s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation && s.Privileged == nil,
		"%s has privileges", w.name,
	)
	r.require(
		s != nil && s.Capabilities != nil && len(s.Capabilities.Add) == 0 &&
			slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}),
		"%s has capabilities", w.name,
	)
	for _, name := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory} {
		_, requested := c.Resources.Requests[name]
		r.require(requested, "%s requests no %s", w.name, name)
	}
	limit := c.Resources.Limits.Memory().Value()
	r.require(limit > 0, "%s has no memory limit", w.name)
	goLimit := int64(0)
	for _, v := range c.Env {
		if v.Name == "GOMEMLIMIT" {
			mebibytes, _ := strconv.ParseInt(strings.TrimSuffix(v.Value, "MiB"), 10, 64)
			goLimit = mebibytes << 20
		}
	}
	r.require(goLimit > limit*8/10 && goLimit < limit*9/10, "%s has GOMEMLIMIT %d, of %d", w.name, goLimit, limit)
	if w.kind == "Job" {
		r.require(slices.Equal(c.Args, []string{"migrate"}), "%s runs %v", w.name, c.Args)
		return
	}
	r.require(slices.Equal(c.Args, []string{"serve"}), "%s runs %v", w.name, c.Args)
	encrypted := slices.ContainsFunc(c.Env, func(v core.EnvVar) bool { return v.Name == "LIVEGRAPH_TLS_CERT" })
	for _, p := range []struct {
		path  string
		probe *core.Probe
	}{{"/healthz", c.StartupProbe}, {"/readyz", c.ReadinessProbe}, {"/healthz", c.LivenessProbe}} {
		ok := p.probe != nil && p.probe.HTTPGet != nil && p.probe.HTTPGet.Path == p.path &&
			p.probe.HTTPGet.Port == intstr.FromString("http") && (p.probe.HTTPGet.Scheme == core.URISchemeHTTPS) == encrypted
		r.require(ok, "%s has no probe of %s", w.name, p.path)
	}
	if probe := c.StartupProbe; probe != nil {
		r.require(probe.PeriodSeconds*probe.FailureThreshold >= 90, "%s has less than 90 s to start", w.name)
	}
	if probe := c.ReadinessProbe; probe != nil {
		r.require(probe.PeriodSeconds <= 5, "%s is checked every %d s", w.name, probe.PeriodSeconds)
	}
	for _, port := range []string{"http", "metrics"} {
		found := slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == port })
		r.require(found, "%s has no port %s", w.name, port)
	}
}

var (
	reference    = regexp.MustCompile(`\$\(([^)]*)\)`)
	secretName   = regexp.MustCompile(`PASSWORD|TOKEN|SECRET|HEADERS|_KEY$`)
	pathOfSecret = regexp.MustCompile(`^/etc/livegraph/[a-z]+(-ca|-cert)?/(ca\.crt|tls\.crt|tls\.key)$`)
	urlPassword  = regexp.MustCompile(`://[^/@\s]*:([^/@\s]*)@`)
	otherNames   = []string{"GOMEMLIMIT", "PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY"}
)

func (r *rules) checkVariables(w workload, c core.Container) {
	earlier := map[string]bool{}
	for _, v := range c.Env {
		_, again := earlier[v.Name]
		r.require(!again, "%s sets %s twice", w.name, v.Name)
		isPassword := regexp.MustCompile(`^(CLICKHOUSE|POSTGRES|REDIS)_PASSWORD$`).MatchString(v.Name)
		if strings.HasPrefix(v.Name, "LIVEGRAPH_") {
			r.require(slices.Contains(r.settings, v.Name), "%s sets %s, which is not a setting", w.name, v.Name)
		} else {
			r.require(isPassword || slices.Contains(otherNames, v.Name), "%s sets %s", w.name, v.Name)
		}
		isSecret := v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil &&
			v.ValueFrom.SecretKeyRef.Name != "" && v.ValueFrom.SecretKeyRef.Key != ""
		r.require(isSecret || v.Value != "", "%s sets %s to nothing", w.name, v.Name)
		if secretName.MatchString(v.Name) {
			r.require(isSecret || pathOfSecret.MatchString(v.Value), "%s has the value of %s", w.name, v.Name)
		}
		for _, m := range reference.FindAllStringSubmatch(v.Value, -1) {
			r.require(earlier[m[1]], "%s refers to %s, which is no earlier variable of a Secret", v.Name, m[1])
		}
		if m := urlPassword.FindStringSubmatch(v.Value); m != nil {
			r.require(reference.MatchString(m[1]), "%s has a password in %s", w.name, v.Name)
		}
		earlier[v.Name] = isSecret
	}
}

func (r *rules) checkVolumes(w workload) {
	volumes := map[string]core.Volume{}
	for _, v := range w.template.Spec.Volumes {
		volumes[v.Name] = v
		r.require(v.EmptyDir != nil || v.Secret != nil, "%s has volume %s", w.name, v.Name)
		if v.EmptyDir != nil {
			r.require(v.EmptyDir.SizeLimit != nil, "%s has volume %s without a limit", w.name, v.Name)
		}
	}
	for _, claim := range w.claims {
		volumes[claim.Name] = core.Volume{}
	}
	var writable []string
	for _, c := range w.template.Spec.Containers {
		for _, m := range c.VolumeMounts {
			v, ok := volumes[m.Name]
			r.require(ok, "%s mounts %s, which it has not", w.name, m.Name)
			r.require(m.ReadOnly == (v.Secret != nil), "%s mounts %s", w.name, m.Name)
			if !m.ReadOnly {
				writable = append(writable, m.MountPath)
			}
		}
		for _, v := range c.Env {
			directory, _, _ := cutLast(v.Value, "/")
			if strings.HasPrefix(v.Value, "/etc/livegraph/") {
				mounted := slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == directory })
				r.require(mounted, "%s reads %s, which is not mounted", w.name, v.Value)
			}
		}
		r.require(len(c.VolumeMounts) == len(volumes), "%s mounts only some of its volumes", w.name)
	}
	r.require(slices.Contains(writable, "/var/lib/livegraph"), "%s has no data directory", w.name)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (r *rules) checkUpdate(w workload) {
	if w.update == nil {
		return
	}
	rolling := w.update.RollingUpdate
	r.require(
		rolling != nil && *rolling.MaxUnavailable == intstr.FromInt32(0) && *rolling.MaxSurge == intstr.FromInt32(1),
		"%s stops pods before their successors are ready", w.name,
	)
}

// matches reports whether a selector that selects something selects labels.
func matches(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !parsed.Empty() && parsed.Matches(labels.Set(of))
}

// selected returns the workloads whose pods a selector selects.
func (r *rules) selected(selector *metav1.LabelSelector) (found []workload) {
	for _, w := range workloads(r.objects) {
		if matches(selector, w.template.Labels) {
			found = append(found, w)
		}
	}
	return found
}

func (r *rules) checkSelectors() {
	budgets := map[string]int{}
	for _, object := range r.objects {
		switch o := object.(type) {
		case *core.Service:
			found := r.selected(&metav1.LabelSelector{MatchLabels: o.Spec.Selector})
			r.require(len(found) > 0, "Service %s selects no pod", o.Name)
			for _, w := range found {
				for _, port := range o.Spec.Ports {
					has := slices.ContainsFunc(w.template.Spec.Containers[0].Ports, func(p core.ContainerPort) bool {
						return p.Name == port.TargetPort.StrVal
					})
					r.require(has, "Service %s leads to port %s, which %s has not", o.Name, port.TargetPort.StrVal, w.name)
				}
			}
		case *policy.PodDisruptionBudget:
			found := r.selected(o.Spec.Selector)
			r.require(len(found) == 1 && found[0].name == o.Name, "PodDisruptionBudget %s selects others", o.Name)
			budgets[o.Name]++
		case *networking.NetworkPolicy:
			r.require(len(r.selected(&o.Spec.PodSelector)) > 0, "NetworkPolicy %s selects no pod", o.Name)
		}
	}
	for _, w := range workloads(r.objects) {
		if w.selector == nil {
			continue
		}
		found := r.selected(w.selector)
		r.require(len(found) == 1 && found[0].name == w.name, "%s %s does not select its pods alone", w.kind, w.name)
		r.require(budgets[w.name] == 1, "%s has no PodDisruptionBudget", w.name)
	}
}

func (r *rules) checkScaling() {
	scaled := map[string]bool{}
	for _, object := range r.objects {
		o, ok := object.(*autoscaling.HorizontalPodAutoscaler)
		if !ok {
			continue
		}
		target := o.Spec.ScaleTargetRef
		scaled[target.Name] = true
		i := slices.IndexFunc(workloads(r.objects), func(w workload) bool {
			return w.kind == target.Kind && w.name == target.Name && target.APIVersion == "apps/v1"
		})
		r.require(i >= 0, "%s scales %s %s, which does not exist", o.Name, target.Kind, target.Name)
		if i >= 0 {
			r.require(workloads(r.objects)[i].replicas == nil, "%s and the autoscaler set the replicas", target.Name)
		}
		r.require(len(o.Spec.Metrics) > 0 && o.Spec.MinReplicas != nil, "%s has no metrics", o.Name)
		for _, metric := range o.Spec.Metrics {
			if metric.External == nil {
				r.require(metric.Resource != nil && metric.Resource.Name == core.ResourceCPU, "%s: metric", o.Name)
				continue
			}
			row := regexp.MustCompile("(?m)^\\| `" + metric.External.Metric.Name + "` \\| gauge \\| (.*?) \\|").
				FindStringSubmatch(r.metrics)
			r.require(row != nil, "%s scales on %s, which is not a metric", o.Name, metric.External.Metric.Name)
			for label := range metric.External.Metric.Selector.MatchLabels {
				r.require(row != nil && strings.Contains(row[1], "`"+label+"`"), "%s selects label %s", o.Name, label)
			}
		}
	}
	for _, w := range workloads(r.objects) {
		r.require(w.kind == "Job" || w.replicas != nil || scaled[w.name], "%s has no number of replicas", w.name)
	}
}

func (r *rules) checkNetwork() {
	denied := 0
	for _, object := range r.objects {
		switch o := object.(type) {
		case *networking.NetworkPolicy:
			all := len(r.selected(&o.Spec.PodSelector)) == len(workloads(r.objects))
			if all && len(o.Spec.PolicyTypes) == 2 && len(o.Spec.Ingress) == 0 {
				denied++
			}
			for _, rule := range o.Spec.Ingress {
				r.require(len(rule.Ports) > 0, "NetworkPolicy %s allows every port", o.Name)
				for _, port := range rule.Ports {
					open := port.Port.StrVal == "metrics" && len(rule.From) == 0
					r.require(!open, "NetworkPolicy %s opens the metrics", o.Name)
				}
			}
			for _, rule := range o.Spec.Egress {
				r.require(len(rule.Ports) > 0, "NetworkPolicy %s allows every port", o.Name)
			}
		case *unstructured.Unstructured:
			for _, other := range r.objects {
				if p, ok := other.(*networking.NetworkPolicy); ok {
					// Operators copy the labels to their pods.
					taken := matches(&p.Spec.PodSelector, o.GetLabels())
					r.require(!taken, "NetworkPolicy %s selects the pods of %s", p.Name, o.GetKind())
				}
			}
		}
	}
	r.require(denied == 1, "%d NetworkPolicies deny what is not allowed", denied)
}

// checkSecrets checks that no object contains a secret.
func (r *rules) checkSecrets() {
	for _, object := range r.objects {
		switch o := object.(type) {
		case *core.Secret, *core.ConfigMap:
			r.require(false, "there is a %T", o)
		}
	}
}

func TestTheObjectsFollowTheRules(t *testing.T) {
	for _, name := range cases {
		require.Empty(t, check(t, objects(t, valuesOf(t, name))), name)
	}
}
