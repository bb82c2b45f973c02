{{/*
The engines' values, with those that `operators` provides, as JSON. Everything else reads the engines from here.
*/}}
{{- define "livegraph.engines" -}}
{{- $name := include "livegraph.fullname" . -}}
{{- $engines := pick (deepCopy .Values) "kafka" "clickhouse" "postgres" "redis" "milvus" "embedder" -}}
{{- if and .Values.operators.kafka.enabled (not $engines.kafka.brokers) -}}
  {{- $kafka := $engines.kafka -}}
  {{- $_ := set $kafka "brokers" (list (printf "%s-kafka-kafka-bootstrap.%s.svc:9093" $name .Release.Namespace)) -}}
  {{- $_ := set $kafka.tls "enabled" true -}}
  {{- $_ := set $kafka.tls "caSecret" (dict "name" (printf "%s-kafka-cluster-ca-cert" $name) "key" "ca.crt") -}}
  {{- $_ := set $kafka "sasl" (dict "mechanism" "scram-sha-512" "username" $name "passwordSecret" (dict "name" $name "key" "password")) -}}
{{- end -}}
{{- if and .Values.operators.clickhouse.enabled (not $engines.clickhouse.url) (not $engines.clickhouse.urlSecret.name) -}}
  {{- $_ := set $engines.clickhouse "url" (printf "clickhouse://livegraph@clickhouse-%s.%s.svc:9000/default" $name .Release.Namespace) -}}
  {{- $_ := set $engines.clickhouse "passwordSecret" .Values.operators.clickhouse.passwordSecret -}}
{{- end -}}
{{- if and .Values.operators.postgres.enabled (not $engines.postgres.url) (not $engines.postgres.urlSecret.name) -}}
  {{- $_ := set $engines.postgres "urlSecret" (dict "name" (printf "%s-postgres-app" $name) "key" "uri") -}}
  {{- $_ := set $engines.postgres.tls "mode" "verify-full" -}}
  {{- $_ := set $engines.postgres.tls "caSecret" (dict "name" (printf "%s-postgres-ca" $name) "key" "ca.crt") -}}
{{- end -}}
{{- $engines | toJson -}}
{{- end -}}

{{/* A variable from a Secret. Takes (list variable reference). */}}
{{- define "livegraph.secretVariable" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ (index . 1).name }}
      key: {{ (index . 1).key }}
{{- end -}}

{{/*
The variables of an engine's URL. The password is a variable of its own, which Kubernetes inserts where the URL has
$(NAME). Takes (list engine values).
*/}}
{{- define "livegraph.url" -}}
{{- $upper := upper (index . 0) -}}
{{- with index . 1 -}}
{{- if .urlSecret.name -}}
{{- include "livegraph.secretVariable" (list (printf "LIVEGRAPH_%s_URL" $upper) .urlSecret) }}
{{- else if .passwordSecret.name -}}
{{- $scheme := regexFind "^[a-z-]+://" .url -}}
{{- $rest := trimPrefix $scheme .url -}}
{{- $user := "" -}}
{{- if contains "@" $rest -}}
  {{- $user = regexFind "^[^@]*" $rest -}}
  {{- $rest = trimPrefix (printf "%s@" $user) $rest -}}
{{- end -}}
{{- include "livegraph.secretVariable" (list (printf "%s_PASSWORD" $upper) .passwordSecret) }}
- name: LIVEGRAPH_{{ $upper }}_URL
  value: {{ printf "%s%s:$(%s_PASSWORD)@%s" $scheme $user $upper $rest | quote }}
{{- else -}}
- name: LIVEGRAPH_{{ $upper }}_URL
  value: {{ .url | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The variables of an engine's TLS settings. Takes (list engine tls). */}}
{{- define "livegraph.tlsVariables" -}}
{{- $engine := index . 0 -}}
{{- $prefix := printf "LIVEGRAPH_%s_TLS" (upper $engine) -}}
{{- with (index . 1).caSecret.name }}
- name: {{ $prefix }}_CA
  value: /etc/livegraph/{{ $engine }}-ca/ca.crt
{{- end }}
{{- with (index . 1).certSecret }}
- name: {{ $prefix }}_CERT
  value: /etc/livegraph/{{ $engine }}-cert/tls.crt
- name: {{ $prefix }}_KEY
  value: /etc/livegraph/{{ $engine }}-cert/tls.key
{{- end }}
{{- with (index . 1).serverName }}
- name: {{ $prefix }}_SERVER_NAME
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The variables of all engines. */}}
{{- define "livegraph.engineVariables" -}}
{{- $engines := include "livegraph.engines" . | fromJson -}}
{{- with $engines.kafka }}
- name: LIVEGRAPH_KAFKA_BROKERS
  value: {{ join "," .brokers | quote }}
- name: LIVEGRAPH_KAFKA_REPLICATION
  value: {{ int .replication | quote }}
- name: LIVEGRAPH_KAFKA_POINTS_PARTITIONS
  value: {{ int .pointsPartitions | quote }}
- name: LIVEGRAPH_KAFKA_COMMANDS_PARTITIONS
  value: {{ int .commandsPartitions | quote }}
- name: LIVEGRAPH_KAFKA_RETENTION_BYTES
  value: {{ int64 .retentionBytes | quote }}
{{- if .tls.enabled }}
- name: LIVEGRAPH_KAFKA_TLS
  value: "true"
{{- include "livegraph.tlsVariables" (list "kafka" .tls) }}
{{- end }}
{{- if .sasl.mechanism }}
- name: LIVEGRAPH_KAFKA_SASL_MECHANISM
  value: {{ .sasl.mechanism }}
- name: LIVEGRAPH_KAFKA_SASL_USERNAME
  value: {{ .sasl.username | quote }}
{{ include "livegraph.secretVariable" (list "LIVEGRAPH_KAFKA_SASL_PASSWORD" .sasl.passwordSecret) }}
{{- end }}
{{- end }}
{{ include "livegraph.url" (list "clickhouse" $engines.clickhouse) }}
{{- include "livegraph.tlsVariables" (list "clickhouse" $engines.clickhouse.tls) }}
{{ include "livegraph.url" (list "postgres" $engines.postgres) }}
- name: LIVEGRAPH_POSTGRES_MAX_CONNS
  value: {{ int $engines.postgres.maxConnections | quote }}
{{- with $engines.postgres.tls.mode }}
- name: PGSSLMODE
  value: {{ . }}
{{- end }}
{{- with $engines.postgres.tls.caSecret.name }}
- name: PGSSLROOTCERT
  value: /etc/livegraph/postgres-ca/ca.crt
{{- end }}
{{- with $engines.postgres.tls.certSecret }}
- name: PGSSLCERT
  value: /etc/livegraph/postgres-cert/tls.crt
- name: PGSSLKEY
  value: /etc/livegraph/postgres-cert/tls.key
{{- end }}
{{ include "livegraph.url" (list "redis" $engines.redis) }}
{{- with $engines.redis.sentinel }}
{{- with .username }}
- name: LIVEGRAPH_REDIS_SENTINEL_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- if .passwordSecret.name }}
{{ include "livegraph.secretVariable" (list "LIVEGRAPH_REDIS_SENTINEL_PASSWORD" .passwordSecret) }}
{{- end }}
{{- end }}
{{- include "livegraph.tlsVariables" (list "redis" $engines.redis.tls) }}
- name: LIVEGRAPH_MILVUS_ADDRESS
  value: {{ $engines.milvus.address | quote }}
{{- if $engines.milvus.tokenSecret.name }}
{{ include "livegraph.secretVariable" (list "LIVEGRAPH_MILVUS_TOKEN" $engines.milvus.tokenSecret) }}
{{- end }}
{{- include "livegraph.tlsVariables" (list "milvus" $engines.milvus.tls) }}
- name: LIVEGRAPH_EMBEDDER
  value: {{ $engines.embedder.url | quote }}
{{- if ne $engines.embedder.url "static" }}
- name: LIVEGRAPH_EMBEDDER_MODEL
  value: {{ $engines.embedder.model | quote }}
- name: LIVEGRAPH_EMBEDDER_DIMENSIONS
  value: {{ int $engines.embedder.dimensions | quote }}
{{- if $engines.embedder.allowPrivateAddresses }}
- name: LIVEGRAPH_EMBEDDER_ALLOW_PRIVATE_ADDRESSES
  value: "true"
{{- end }}
{{- if $engines.embedder.keySecret.name }}
{{ include "livegraph.secretVariable" (list "LIVEGRAPH_EMBEDDER_KEY" $engines.embedder.keySecret) }}
{{- end }}
{{- include "livegraph.tlsVariables" (list "embedder" $engines.embedder.tls) }}
{{- end }}
{{- end -}}

{{/* The engines whose TLS files are mounted, as {engine: tls} in JSON. */}}
{{- define "livegraph.tlsFiles" -}}
{{- $engines := include "livegraph.engines" . | fromJson -}}
{{- if not $engines.kafka.tls.enabled -}}
  {{- $_ := unset $engines "kafka" -}}
{{- end -}}
{{- if eq $engines.embedder.url "static" -}}
  {{- $_ := unset $engines "embedder" -}}
{{- end -}}
{{- $files := dict -}}
{{- range $engine, $values := $engines -}}
  {{- $_ := set $files $engine $values.tls -}}
{{- end -}}
{{- $files | toJson -}}
{{- end -}}

{{- define "livegraph.tlsVolumes" -}}
{{- range $engine, $tls := include "livegraph.tlsFiles" . | fromJson }}
{{- if $tls.caSecret.name }}
- name: {{ $engine }}-ca
  secret:
    secretName: {{ $tls.caSecret.name }}
    defaultMode: 0440
    items:
      - key: {{ $tls.caSecret.key }}
        path: ca.crt
{{- end }}
{{- with $tls.certSecret }}
- name: {{ $engine }}-cert
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- end -}}

{{- define "livegraph.tlsMounts" -}}
{{- range $engine, $tls := include "livegraph.tlsFiles" . | fromJson }}
{{- if $tls.caSecret.name }}
- name: {{ $engine }}-ca
  mountPath: /etc/livegraph/{{ $engine }}-ca
  readOnly: true
{{- end }}
{{- if $tls.certSecret }}
- name: {{ $engine }}-cert
  mountPath: /etc/livegraph/{{ $engine }}-cert
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/* Variables that the chart sets by values of its own. Everything of the engines, except for a few, is among them. */}}
{{- define "livegraph.ownVariables" -}}
LIVEGRAPH_LISTEN LIVEGRAPH_DATA_DIR LIVEGRAPH_ROLES LIVEGRAPH_TLS_CERT LIVEGRAPH_TLS_KEY LIVEGRAPH_METRICS_LISTEN
LIVEGRAPH_KAFKA_BROKERS LIVEGRAPH_KAFKA_POINTS_PARTITIONS LIVEGRAPH_KAFKA_COMMANDS_PARTITIONS LIVEGRAPH_KAFKA_REPLICATION
LIVEGRAPH_KAFKA_RETENTION_BYTES LIVEGRAPH_KAFKA_SASL_MECHANISM LIVEGRAPH_KAFKA_SASL_USERNAME LIVEGRAPH_KAFKA_SASL_PASSWORD
LIVEGRAPH_CLICKHOUSE_URL LIVEGRAPH_POSTGRES_URL LIVEGRAPH_POSTGRES_MAX_CONNS LIVEGRAPH_REDIS_URL LIVEGRAPH_REDIS_SENTINEL_USERNAME
LIVEGRAPH_REDIS_SENTINEL_PASSWORD LIVEGRAPH_MILVUS_ADDRESS
LIVEGRAPH_MILVUS_TOKEN LIVEGRAPH_EMBEDDER LIVEGRAPH_EMBEDDER_KEY LIVEGRAPH_EMBEDDER_MODEL LIVEGRAPH_EMBEDDER_DIMENSIONS
LIVEGRAPH_EMBEDDER_ALLOW_PRIVATE_ADDRESSES LIVEGRAPH_API_PUBLIC_URL LIVEGRAPH_API_TRUSTED_PROXIES LIVEGRAPH_API_CORS_ORIGINS
LIVEGRAPH_API_OTLP_GRPC_LISTEN LIVEGRAPH_AUDIT_SPOOL_DIR
{{- end -}}

{{/* Settings that contain a secret and have no value of their own. */}}
{{- define "livegraph.secretSettings" -}}
LIVEGRAPH_POSTGRES_DIRECT_URL LIVEGRAPH_POSTGRES_REPLICA_URL LIVEGRAPH_TRACING_HEADERS LIVEGRAPH_PREVIOUS_EMBEDDER_KEY
LIVEGRAPH_CHAT_KEY LIVEGRAPH_RERANK_KEY
{{- end -}}
