"""Writes with influxdb, the client of version 1: the key is the password."""

import json
import os
from urllib.parse import urlsplit

from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError

address = urlsplit(os.environ["LG"])
client = InfluxDBClient(address.hostname, address.port, "any", os.environ["KEY"], os.environ["WORKSPACE"], gzip=True)
result = {"version": client.ping()}
result["written"] = client.write_points(
    [
        {"measurement": "old", "tags": {"room": "A"}, "time": i, "fields": {"f": i / 4, "n": i, "s": 'a "b"'}}
        for i in range(1000)
    ],
    time_precision="ms",
    batch_size=300,
)
try:
    client.write_points(["bad f="], protocol="line")
except InfluxDBClientError as error:
    result["status"] = error.code

print(json.dumps(result))
