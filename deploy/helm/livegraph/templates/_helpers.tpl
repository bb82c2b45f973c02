{{/* Names. */}}
{{- define "livegraph.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "livegraph.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "livegraph.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "livegraph.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select the release's pods; with a component, those of a role. They never change. */}}
{{- define "livegraph.selectorLabels" -}}
app.kubernetes.io/name: {{ include "livegraph.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of objects, except for the selectors' labels. */}}
{{- define "livegraph.labels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* metadata of an object. Takes (list context name component extra-labels extra-annotations). */}}
{{- define "livegraph.metadata" -}}
{{- $ := index . 0 -}}
metadata:
  name: {{ index . 1 }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "livegraph.selectorLabels" $ | nindent 4 }}
    {{- include "livegraph.labels" $ | nindent 4 }}
    {{- with index . 2 }}
    app.kubernetes.io/component: {{ . }}
    {{- end }}
    {{- with index . 3 }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- $annotations := merge (dict) (index . 4) $.Values.commonAnnotations }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/*
metadata of an engine's custom resource, which a removal of the release keeps. Operators copy its labels to pods, which
the release's policies must not select. Takes (list context name engine extra-labels).
*/}}
{{- define "livegraph.engineMetadata" -}}
{{- $ := index . 0 -}}
metadata:
  name: {{ index . 1 }}
  namespace: {{ $.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ index . 2 }}
    app.kubernetes.io/part-of: {{ include "livegraph.fullname" $ }}
    {{- include "livegraph.labels" $ | nindent 4 }}
    {{- with index . 3 }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- toYaml (merge (dict "helm.sh/resource-policy" "keep") $.Values.commonAnnotations) | nindent 4 }}
{{- end -}}

{{/*
Connections to Postgres of the most replicas, and one more of each role during an upgrade: each process has
postgres.maxConnections and 4 for keys, and one of role commands 12 more.
*/}}
{{- define "livegraph.postgresConnections" -}}
{{- $total := 0 -}}
{{- range $role := splitList " " (include "livegraph.roles" .) -}}
  {{- $values := get $.Values $role -}}
  {{- $processes := add 1 (ternary $values.autoscaling.maxReplicas $values.replicas $values.autoscaling.enabled) -}}
  {{- $each := add 4 $.Values.postgres.maxConnections -}}
  {{- if eq $role "commands" -}}
    {{- $each = add $each (int (default 12 (get (merge (dict) $values.settings $.Values.settings) "LIVEGRAPH_COMMANDS_CONNECTIONS"))) -}}
  {{- end -}}
  {{- $total = add $total (mul $processes $each) -}}
{{- end -}}
{{- $total -}}
{{- end -}}

{{- define "livegraph.roles" -}}
api points commands embeddings audit rules
{{- end -}}

{{/* The image of a role. Takes (list context tag). */}}
{{- define "livegraph.image" -}}
{{- $ := index . 0 -}}
{{- $tag := index . 1 -}}
{{- if $tag -}}
{{- printf "%s:%s" $.Values.image.repository $tag -}}
{{- else if $.Values.image.digest -}}
{{- printf "%s@%s" $.Values.image.repository $.Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $.Values.image.repository (default $.Chart.AppVersion $.Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* GOMEMLIMIT: 88% of a memory limit, in bytes. Takes (list path limit). */}}
{{- define "livegraph.goMemLimit" -}}
{{- $limit := toString (index . 1) -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- $number := regexFind "^[0-9]+" $limit -}}
{{- $unit := trimPrefix $number $limit -}}
{{- if or (not $number) (not (hasKey $units $unit)) -}}
{{- fail (printf "%s: %q is not a whole number of bytes with the unit k, M, G, Ki, Mi or Gi" (index . 0) $limit) -}}
{{- end -}}
{{- printf "%dMiB" (div (mul (int64 $number) (get $units $unit) 88) 104857600) -}}
{{- end -}}

{{/* Security contexts of every pod and container of Livegraph. */}}
{{- define "livegraph.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "livegraph.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* A probe. Takes (list path tls timing). */}}
{{- define "livegraph.probe" -}}
httpGet:
  path: {{ index . 0 }}
  port: http
  {{- if index . 1 }}
  scheme: HTTPS
  {{- end }}
{{ toYaml (index . 2) }}
{{- end -}}

{{/* Variables of settings: of all roles, of a role, and of Secrets. Takes (list context settings-of-the-role). */}}
{{- define "livegraph.settingVariables" -}}
{{- $ := index . 0 -}}
{{- range $name, $value := merge (dict) (index . 1) $.Values.settings }}
- name: {{ $name }}
  value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}
{{- end }}
{{- range $name, $reference := $.Values.secretSettings }}
{{ include "livegraph.secretVariable" (list $name $reference) }}
{{- end }}
{{- end -}}
