"""Writes with influxdb-client to a server that has no room at first."""

import json
import os

from influxdb_client import InfluxDBClient, Point, WriteOptions

failed = []
with InfluxDBClient(url=os.environ["LG"], token=os.environ["KEY"], org="any") as client:
    options = WriteOptions(
        batch_size=250, flush_interval=100, retry_interval=100, max_retry_delay=2000, max_retries=10
    )
    with client.write_api(
        write_options=options, error_callback=lambda conf, data, error: failed.append(str(error))
    ) as points:
        for i in range(1000):
            points.write(os.environ["WORKSPACE"], record=Point("again").field("f", i).time(i * 1_000_000_000))

print(json.dumps({"failed": failed}))
