{{/* Refuses values that the schema cannot refuse, with a message that names the value. */}}
{{- define "livegraph.validate" -}}
{{- $engines := include "livegraph.engines" . | fromJson -}}
{{- if not $engines.kafka.brokers -}}
  {{- fail "kafka.brokers: is required, unless operators.kafka.enabled is true" -}}
{{- end -}}
{{- range $engine := list "clickhouse" "postgres" "redis" -}}
  {{- $values := get $engines $engine -}}
  {{- if and (not $values.url) (not $values.urlSecret.name) -}}
    {{- fail (printf "%s.url: is required, or %s.urlSecret.name" $engine $engine) -}}
  {{- end -}}
  {{- if and $values.url $values.urlSecret.name -}}
    {{- fail (printf "%s.urlSecret.name: set either this or %s.url" $engine $engine) -}}
  {{- end -}}
  {{- if and $values.passwordSecret.name $values.urlSecret.name -}}
    {{- fail (printf "%s.passwordSecret.name: the URL of %s.urlSecret has the password" $engine $engine) -}}
  {{- end -}}
{{- end -}}
{{- with $engines.redis -}}
  {{- if and .sentinel.username (not .sentinel.passwordSecret.name) -}}
    {{- fail "redis.sentinel.passwordSecret.name: is required with redis.sentinel.username" -}}
  {{- end -}}
  {{- if and .url .sentinel.passwordSecret.name (not (regexMatch "^rediss?-sentinel://" .url)) -}}
    {{- fail "redis.sentinel: is for redis.url as redis-sentinel:// or rediss-sentinel://" -}}
  {{- end -}}
{{- end -}}
{{- if not $engines.milvus.address -}}
  {{- fail "milvus.address: is required" -}}
{{- end -}}
{{- if and .Values.operators.clickhouse.enabled (not .Values.operators.clickhouse.passwordSecret.name) -}}
  {{- fail "operators.clickhouse.passwordSecret.name: is required" -}}
{{- end -}}
{{- with $engines.kafka -}}
  {{- if and .sasl.mechanism (or (not .sasl.username) (not .sasl.passwordSecret.name)) -}}
    {{- fail "kafka.sasl: a mechanism requires username and passwordSecret.name" -}}
  {{- end -}}
  {{- if and (not .tls.enabled) (or .tls.caSecret.name .tls.certSecret .tls.serverName) -}}
    {{- fail "kafka.tls.enabled: must be true for the other values of kafka.tls" -}}
  {{- end -}}
{{- end -}}
{{- with $engines.embedder -}}
  {{- if and (ne .url "static") (or (not .model) (not .dimensions)) -}}
    {{- fail "embedder.model and embedder.dimensions: are required with embedder.url" -}}
  {{- end -}}
{{- end -}}
{{- $partitions := dict "points" "pointsPartitions" "commands" "commandsPartitions" "embeddings" "commandsPartitions" "audit" "commandsPartitions" -}}
{{- range $role := splitList " " (include "livegraph.roles" .) -}}
  {{- $values := get $.Values $role -}}
  {{- $most := $values.replicas -}}
  {{- $from := printf "%s.replicas" $role -}}
  {{- with $values.autoscaling -}}
    {{- if .enabled -}}
      {{- $most = .maxReplicas -}}
      {{- $from = printf "%s.autoscaling.maxReplicas" $role -}}
      {{- if lt (int .maxReplicas) (int .minReplicas) -}}
        {{- fail (printf "%s: %d is less than minReplicas, %d" $from (int .maxReplicas) (int .minReplicas)) -}}
      {{- end -}}
      {{- if not (or .cpu (and (hasKey . "lag") .lag.enabled)) -}}
        {{- fail (printf "%s.autoscaling: enable cpu or lag, or disable autoscaling" $role) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
  {{- with get $partitions $role -}}
    {{- $limit := int (get $engines.kafka .) -}}
    {{- if gt (int $most) $limit -}}
      {{- fail (printf "%s: %d is more than kafka.%s, %d" $from (int $most) . $limit) -}}
    {{- end -}}
  {{- end -}}
  {{- include "livegraph.validateSettings" (list $ (printf "%s.settings" $role) $values.settings) -}}
{{- end -}}
{{- include "livegraph.validateSettings" (list . "settings" .Values.settings) -}}
{{- $known := .Files.Lines "files/settings.txt" -}}
{{- range $name, $_ := .Values.secretSettings -}}
  {{- if not (has $name $known) -}}
    {{- fail (printf "secretSettings.%s: is not a setting of docs/settings.md" $name) -}}
  {{- end -}}
  {{- if has $name (regexSplit "\\s+" (include "livegraph.ownVariables" $) -1) -}}
    {{- fail (printf "secretSettings.%s: the chart sets it; see the values of its part" $name) -}}
  {{- end -}}
  {{- if hasKey $.Values.settings $name -}}
    {{- fail (printf "secretSettings.%s: is in settings, too" $name) -}}
  {{- end -}}
{{- end -}}
{{- with .Values.operators.postgres -}}
  {{- $connections := include "livegraph.postgresConnections" $ | int -}}
  {{- if and .enabled (lt (int .maxConnections) $connections) -}}
    {{- fail (printf "operators.postgres.maxConnections: %d is less than the connections of all processes, %d" (int .maxConnections) $connections) -}}
  {{- end -}}
{{- end -}}
{{- if le (int .Values.terminationGracePeriodSeconds) (add (int .Values.preStopSeconds) 13 | int) -}}
  {{- fail (printf "terminationGracePeriodSeconds: must exceed preStopSeconds by more than 13, the time of the shutdown") -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
  {{- fail "ingress.hosts: is required" -}}
{{- end -}}
{{- end -}}

{{/* Takes (list context path settings). */}}
{{- define "livegraph.validateSettings" -}}
{{- $ := index . 0 -}}
{{- $path := index . 1 -}}
{{- $known := $.Files.Lines "files/settings.txt" -}}
{{- $own := regexSplit "\\s+" (include "livegraph.ownVariables" $) -1 -}}
{{- $secret := regexSplit "\\s+" (include "livegraph.secretSettings" $) -1 -}}
{{- range $name, $_ := index . 2 -}}
  {{- if not (has $name $known) -}}
    {{- fail (printf "%s.%s: is not a setting of docs/settings.md" $path $name) -}}
  {{- end -}}
  {{- if or (has $name $own) (regexMatch "_TLS(_|$)" $name) -}}
    {{- fail (printf "%s.%s: the chart sets it; see the values of its part" $path $name) -}}
  {{- end -}}
  {{- if has $name $secret -}}
    {{- fail (printf "%s.%s: is a secret; put a reference into secretSettings" $path $name) -}}
  {{- end -}}
{{- end -}}
{{- end -}}
