"""Writes with influxdb-client: the example of docs/formats.md, batches, a bad line."""

import json
import os
from datetime import UTC, datetime, timedelta

from influxdb_client import InfluxDBClient, Point, WriteOptions, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS
from influxdb_client.rest import ApiException

address, key, workspace = os.environ["LG"], os.environ["KEY"], os.environ["WORKSPACE"]
result, failed = {}, []

exec(os.environ["SNIPPET"].replace("http://127.0.0.1:8080", address), {"KEY": key, "WORKSPACE": workspace})

with InfluxDBClient(url=address, token=key, org="any", enable_gzip=True) as client:
    result["ping"] = client.ping()
    result["health"] = client.health().status
    begin = datetime.now(UTC) - timedelta(hours=2)
    options = WriteOptions(batch_size=500, flush_interval=200)
    with client.write_api(
        write_options=options, error_callback=lambda conf, data, error: failed.append(str(error))
    ) as points:
        for i in range(2500):
            points.write(
                workspace,
                record=Point("batched")
                .tag("room", "A, B=C")
                .field("f", i / 4)
                .field("n", i)
                .field("s", 'a "b"\n\\')
                .time(begin + timedelta(seconds=i), WritePrecision.MS),
                write_precision=WritePrecision.MS,
            )
    with client.write_api(write_options=SYNCHRONOUS) as points:
        try:
            points.write(workspace, record="partly f=1 1000\npartly f= 2000\npartly f=3 3000\n")
        except ApiException as error:
            result["status"], result["message"] = error.status, json.loads(error.body)["message"]

print(json.dumps(result | {"failed": failed}))
