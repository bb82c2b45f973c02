package config

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Tracing holds the settings of the export of OpenTelemetry traces.
type Tracing struct {
	Endpoint    string  `help:"URL of the OpenTelemetry collector (OTLP over HTTP, protobuf): http://host:4318, or https://… for TLS. Empty: no traces." env:"LIVEGRAPH_TRACING_ENDPOINT"`
	SampleRatio float64 `help:"Fraction of the traces started by this process that are recorded, 0 to 1. For other traces, the caller's traceparent decides." default:"1" env:"LIVEGRAPH_TRACING_SAMPLE_RATIO"`
	Headers     Secret  `help:"Headers of each export request, such as the key of a hosted collector: NAME=VALUE, comma-separated." env:"LIVEGRAPH_TRACING_HEADERS"`
	Service     string  `help:"Service name in traces." default:"livegraph" env:"LIVEGRAPH_TRACING_SERVICE"`
	Instance    string  `help:"Name of this process in traces. Default: derived from the host name." env:"LIVEGRAPH_TRACING_INSTANCE"`
	QueueSize   int     `help:"Maximum number of spans that wait to be sent. Above it, spans are dropped." default:"4096" env:"LIVEGRAPH_TRACING_QUEUE_SIZE"`
}

// tracesPath is the path for traces in the OTLP specification.
const tracesPath = "/v1/traces"

// URL returns the URL to which spans are posted: the endpoint, with tracesPath appended
// unless it ends with it. The endpoint must be valid.
func (t *Tracing) URL() string {
	u, err := url.Parse(t.Endpoint)
	if err != nil {
		return ""
	}
	if !strings.HasSuffix(u.Path, tracesPath) {
		u = u.JoinPath(tracesPath)
	}
	return u.String()
}

// HeaderMap returns the headers by name. They must be valid.
func (t *Tracing) HeaderMap() map[string]string {
	headers, _ := t.headers()
	return headers
}

func (t *Tracing) headers() (headers map[string]string, ok bool) {
	headers = map[string]string{}
	if t.Headers == "" {
		return headers, true
	}
	for pair := range strings.SplitSeq(t.Headers.Reveal(), ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, false
		}
		headers[name] = value
	}
	return headers, true
}

// validate checks the rules that tags cannot express.
func (t *Tracing) validate(invalid func(setting, format string, args ...any)) {
	if t.SampleRatio < 0 || t.SampleRatio > 1 || t.SampleRatio != t.SampleRatio {
		invalid("tracing-sample-ratio", "must be from 0 to 1")
	}
	if t.QueueSize <= 0 {
		invalid("tracing-queue-size", "must be above zero")
	}
	if t.Service == "" {
		invalid("tracing-service", "must not be empty")
	}
	if _, ok := t.headers(); !ok {
		invalid("tracing-headers", "is not NAME=VALUE, several by comma (its value is not shown)")
	}
	if t.Endpoint == "" {
		return
	}
	u, err := url.Parse(t.Endpoint)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme):
		invalid("tracing-endpoint", "is not a URL with scheme http, https (its value is not shown)")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		invalid("tracing-endpoint", "must hold no user, query or fragment; a key goes into --tracing-headers")
	}
}
