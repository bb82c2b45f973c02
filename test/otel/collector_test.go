package otel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// collector is a running collector.
type collector struct {
	http, grpc string // addresses of its receiver
	log        string // path of its log
	stop       func()
}

// factories returns the components that the documented configuration has.
func factories() (f otelcol.Factories, err error) {
	f.Telemetry = otelconftelemetry.NewFactory()
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](
		memorylimiterprocessor.NewFactory(), batchprocessor.NewFactory(),
	); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](
		otlphttpexporter.NewFactory(), otlpexporter.NewFactory(),
	)
	return f, err
}

// startCollector runs a collector with the documented configuration, which sends to the server with a key by the
// documented exporter, otlp_http or otlp_grpc. more are settings of that exporter that replace those of the page.
func startCollector(t *testing.T, s *server, key, by string, more ...string) *collector {
	t.Helper()
	c := &collector{http: freeAddress(t), grpc: freeAddress(t)}
	dir := t.TempDir()
	c.log = filepath.Join(dir, "log")
	page := documented(t, "test/otel runs a collector with this", "yaml")
	for _, change := range [][2]string{
		{"endpoint: 127.0.0.1:4318", "endpoint: " + c.http}, {"endpoint: 127.0.0.1:4319", "endpoint: " + c.grpc},
		{"http://127.0.0.1:8080", "http://" + s.http}, {"endpoint: 127.0.0.1:4317", "endpoint: " + s.grpc},
		{"API_KEY", key}, {"WORKSPACE_ID", s.workspace}, {"exporters: [otlp_http]", "exporters: [" + by + "]"},
	} {
		require.Contains(t, page, change[0])
		page = strings.ReplaceAll(page, change[0], change[1])
	}
	changes := fmt.Sprintf("service: {telemetry: {metrics: {level: none}, logs: {level: info, encoding: json, "+
		"output_paths: [%q], error_output_paths: [%q]}}}\n", c.log, c.log)
	if len(more) > 0 {
		changes += "exporters: {" + by + ": {" + strings.Join(more, ", ") + "}}\n"
	}
	var uris []string
	for i, text := range []string{page, changes} {
		name := filepath.Join(dir, fmt.Sprint(i, ".yaml"))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		uris = append(uris, "file:"+name)
	}
	c.run(t, uris)
	return c
}

// run runs the collector until stop is called or the test ends.
func (c *collector) run(t *testing.T, uris []string) {
	t.Helper()
	col, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories: factories, BuildInfo: component.NewDefaultBuildInfo(), DisableGracefulShutdown: true,
		SkipSettingGRPCLogger: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: uris, ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- col.Run(context.Background()) }()
	ended := false
	c.stop = func() {
		if !ended {
			ended = true
			col.Shutdown()
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(func() {
		c.stop()
		if t.Failed() {
			t.Logf("the collector's log:\n%s", c.logged(t))
		}
	})
	require.Eventually(t, func() bool {
		select {
		case err := <-done:
			ended = true
			require.NoError(t, err)
		default:
		}
		return col.GetState() == otelcol.StateRunning
	}, waitLimit, pause)
}

// logged returns the log.
func (c *collector) logged(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(c.log)
	require.NoError(t, err)
	return string(text)
}

// awaitLog waits until the log contains a text.
func (c *collector) awaitLog(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(c.logged(t), text) }, waitLimit, pause, text)
}

// testDocumentedCollector sends metrics through a collector with the configuration of docs/opentelemetry.md.
func testDocumentedCollector(t *testing.T) {
	s := running(t)
	at := time.Now().Truncate(time.Millisecond)
	c := startCollector(t, s, s.writer, "otlp_http")
	send(t, overGRPC(c.grpc, nil), sample("documented", at))
	requireSample(t, s, "documented", at)
	c.stop()
	require.NotContains(t, c.logged(t), `"level":"error"`)
}
