"""Measures with every instrument, as measure does in gosdk_test.go, and exports twice. Prints the version of the SDK,
and the result of an export with a key that is not valid."""

import importlib.metadata
import json
import os

from opentelemetry import trace
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource

if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
else:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

resource = Resource.create({"host.name": "h1", "deployment.environment.name": "test"})
views = [View(instrument_name="sdk_size", aggregation=ExponentialBucketHistogramAggregation(max_scale=0))]
reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=3_600_000)
provider = MeterProvider([reader], resource, views=views)
meter = provider.get_meter("python", "2")
observed = 0
orders = meter.create_counter("sdk_orders")
queue = meter.create_up_down_counter("sdk_queue")
level = meter.create_gauge("sdk_level")
latency = meter.create_histogram("sdk_latency", explicit_bucket_boundaries_advisory=[0.5, 1])
size = meter.create_histogram("sdk_size")
meter.create_observable_counter("sdk_observed", [lambda _: [Observation(observed)]])
span = trace.NonRecordingSpan(
    trace.SpanContext(
        0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7, False, trace.TraceFlags(trace.TraceFlags.SAMPLED)
    )
)
with trace.use_span(span):
    orders.add(3)
    queue.add(1.5)
    level.set(1.5)
    latency.record(0.25)
    latency.record(0.5)
    size.record(0)
    size.record(2)
    observed = 10
    provider.force_flush()
    orders.add(5)
    queue.add(-2.5)
    level.set(2.5)
    latency.record(3)
    size.record(3)
    observed = 12
    provider.shutdown()

memory = InMemoryMetricReader()
wrong = MeterProvider([memory], resource)
wrong.get_meter("python").create_gauge("sdk_wrong").set(1)
headers = {"authorization": "Bearer wrong", "x-workspace-id": os.environ["LIVEGRAPH_WORKSPACE_ID"]}
endpoint = {"endpoint": os.environ["WRONG"]} if "WRONG" in os.environ else {}
exporter = OTLPMetricExporter(headers=headers, **endpoint)
result = exporter.export(memory.get_metrics_data())
exporter.shutdown()
print(json.dumps({"version": importlib.metadata.version("opentelemetry-sdk"), "wrong": result.name}))
