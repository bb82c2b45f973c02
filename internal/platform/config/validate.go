package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Validate checks the rules that tags cannot express. Its errors name the invalid settings.
func (c *Config) Validate() error {
	var errs []error
	invalid := func(setting, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s: "+format, append([]any{setting}, args...)...))
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		invalid("listen", "%q is not host:port", c.Listen)
	}
	for _, r := range c.Roles {
		if !slices.Contains(roles, r) {
			invalid("roles", "%q is not one of %s", r, strings.Join(roles, ", "))
		}
	}
	c.validateURLs(invalid)
	c.TLS.validate(invalid)
	c.validateEngines(invalid)
	c.validateAboveZero(invalid)
	c.API.validate(invalid)
	if c.Rollups.Late < 0 {
		invalid("rollups-late", "must not be below zero")
	}
	if c.Graph.DeletedFor < 0 {
		invalid("graph-deleted-for", "must not be below zero")
	}
	c.Postgres.validate(invalid)
	c.Commands.validate(invalid)
	c.Lexical.validate(invalid)
	c.Embeddings.validate(invalid)
	c.ClickHouse.validate(invalid)
	c.Kafka.validate(invalid)
	c.Streams.validate(invalid)
	c.PromQL.validate(invalid)
	c.Rules.validate(invalid)
	c.Analyses.validate(invalid)
	c.Outbound.validate(invalid)
	c.Audit.validate(invalid)
	c.Metrics.validate(invalid)
	if t := c.Ingest.LogFullThreshold; t <= 0 || t > 1 {
		invalid("ingest-log-full-threshold", "must be above 0 and at most 1")
	}
	c.Tracing.validate(invalid)
	return errors.Join(errs...)
}

func (c *Config) validateURLs(invalid func(setting, format string, args ...any)) {
	postgres := []string{"postgres", "postgresql"}
	for _, s := range []struct {
		flag    string
		value   Secret
		schemes []string
	}{
		{"postgres-url", c.Postgres.URL, postgres},
		{"postgres-direct-url", c.Postgres.DirectURL, postgres},
		{"postgres-replica-url", c.Postgres.Replica.URL, postgres},
	} {
		if s.value == "" {
			continue
		}
		u, err := url.Parse(s.value.Reveal())
		if err != nil || u.Host == "" || !slices.Contains(s.schemes, u.Scheme) {
			invalid(s.flag, "is not a URL with scheme %s (its value is not shown)", strings.Join(s.schemes, ", "))
		}
	}
}

func (c *Config) validateAboveZero(invalid func(setting, format string, args ...any)) {
	positive := map[string]int64{
		"kafka-points-partitions":   int64(c.Kafka.PointsPartitions),
		"kafka-commands-partitions": int64(c.Kafka.CommandsPartitions),
		"kafka-retention-bytes":     c.Kafka.RetentionBytes,
		"kafka-buffered-bytes":      int64(c.Kafka.BufferedBytes),
		"postgres-max-conns":        int64(c.Postgres.MaxConns),
		"ingest-max-body-bytes":     c.Ingest.MaxBodyBytes,
		"ingest-max-points":         int64(c.Ingest.MaxPoints),
		"ingest-in-flight-bytes":    c.Ingest.InFlightBytes,
		"points-batch-rows":         int64(c.Points.BatchRows),
		"points-batch-bytes":        int64(c.Points.BatchBytes),
		"points-fetch-bytes":        int64(c.Points.FetchBytes),
		"ingest-series-cache-size":  int64(c.Ingest.SeriesCacheSize),
		"ingest-label-cache-bytes":  int64(c.Ingest.LabelCacheBytes),
		"api-max-connections":       int64(c.API.MaxConnections),
		"api-max-requests":          int64(c.API.MaxRequests),
		"api-max-public":            int64(c.API.MaxPublic),
		"api-max-header-bytes":      int64(c.API.MaxHeaderBytes),
		"api-read-timeout":          int64(c.API.ReadTimeout),
		"api-query-timeout":         int64(c.API.QueryTimeout),
		"api-shutdown-timeout":      int64(c.API.ShutdownTimeout),
		"ingest-produce-timeout":    int64(c.Ingest.ProduceTimeout),
		"points-batch-wait":         int64(c.Points.BatchWait),
		"points-retention-every":    int64(c.Points.RetentionEvery),
		"rollups-quiet":             int64(c.Rollups.Quiet),
		"api-limits-timeout":        int64(c.API.LimitsTimeout),
		"promql-max-series":         int64(c.PromQL.MaxSeries),
		"promql-max-samples":        int64(c.PromQL.MaxSamples),
	}
	for _, name := range slices.Sorted(maps.Keys(positive)) {
		if positive[name] <= 0 {
			invalid(name, "must be above zero")
		}
	}
}

func (a *API) validate(invalid func(setting, format string, args ...any)) {
	for _, cidr := range a.TrustedProxies {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			invalid("api-trusted-proxies", "%q is not a network such as 10.0.0.0/8", cidr)
		}
	}
	if a.AuthFailuresPerMinute < 0 {
		invalid("api-auth-failures-per-minute", "must not be below zero")
	}
	if a.RefusalsPerSecond < 0 {
		invalid("api-refusals-per-second", "must not be below zero")
	}
	if a.LoggedPerSecond < 0 {
		invalid("api-logged-per-second", "must not be below zero")
	}
	if a.MaxWrites < 0 {
		invalid("api-max-writes", "must not be below zero")
	}
}
