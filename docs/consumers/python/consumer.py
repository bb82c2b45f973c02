"""An example of a consumer of one's own: a member of a consumer group that reads topic
points, prints each point as a line of JSON, or keeps a table of what stands.

    python consumer.py --brokers HOST:PORT --group my-group

See the guide in the folder above. points_pb2.py is made from schemas/events/v1/points.proto.
"""

import argparse
import json
import os
import signal
import sys
import uuid
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from confluent_kafka import Consumer, KafkaException, TopicPartition
from google.protobuf.message import DecodeError
from points_pb2 import PointsRecord
from table import Table

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OFFSET_BITS = (1 << 48) - 1  # of the version in a header
WAIT = 10.0  # seconds, for an answer of Kafka


def stamp(us):
    """Microseconds since 1970 as RFC 3339."""
    return (EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")


def version_of(message):
    """Orders the points of one series and time: the later in the log stands. A record
    that was put back from among the dead letters counts where it was before."""
    for key, value in message.headers() or []:
        if key == "lg-version":
            return int(value) & OFFSET_BITS
    return message.offset()


def login():
    """Gives how to log in to Kafka, by the settings of Livegraph itself: a password on the
    command line would be in the list of processes. Without a user nobody logs in."""
    user = os.environ.get("LIVEGRAPH_KAFKA_SASL_USERNAME")
    if not user:
        return {}
    return {
        "security.protocol": "SASL_PLAINTEXT",  # with TLS: "SASL_SSL"
        # The default is that of the embedded Kafka.
        "sasl.mechanism": os.environ.get("LIVEGRAPH_KAFKA_SASL_MECHANISM", "").upper() or "SCRAM-SHA-256",
        "sasl.username": user,
        "sasl.password": os.environ.get("LIVEGRAPH_KAFKA_SASL_PASSWORD", ""),
    }


class Member:
    """A member of the group: where its partitions begin, and whether it is done."""

    def __init__(self, options):
        self.options = options
        self.begun = set()  # partitions whose start the command line has had a say in
        self.next = {}  # by partition that is assigned, the next offset
        self.ends = {}
        self.consumer = Consumer(
            {
                "bootstrap.servers": options.brokers,
                **login(),
                "group.id": options.group,
                "enable.auto.commit": False,  # committed is what is done, not what was fetched
                "auto.offset.reset": "earliest",  # a new group misses nothing
                "fetch.max.bytes": 8 << 20,
            }
        )
        self.consumer.subscribe([options.topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.revoked)

    def assigned(self, consumer, partitions):
        """Decides where newly assigned partitions begin: where the group was, unless the
        command line says otherwise, which it does once a partition."""
        committed = {p.partition: p.offset for p in consumer.committed(partitions, timeout=WAIT)}
        for p in partitions:
            low, high = consumer.get_watermark_offsets(p, timeout=WAIT)
            again = p.partition not in self.begun
            if again and self.options.from_offset is not None:
                p.offset = max(self.options.from_offset, low)
            elif again and self.options.from_time is not None:
                ask = TopicPartition(p.topic, p.partition, int(self.options.from_time.timestamp() * 1000))
                found = consumer.offsets_for_times([ask], timeout=WAIT)[0].offset
                p.offset = found if found >= 0 else high
            else:
                p.offset = committed[p.partition] if committed[p.partition] >= 0 else low
            self.begun.add(p.partition)
            self.next[p.partition] = p.offset
            self.ends.setdefault(p.partition, high)
        consumer.assign(partitions)

    def revoked(self, _, partitions):
        """Notes that partitions are another member's."""
        for p in partitions:
            self.next.pop(p.partition, None)

    def reached(self):
        """Tells whether all that is assigned is read up to where it ended at the start."""
        return bool(self.next) and all(at >= self.ends[p] for p, at in self.next.items())


def read(record, version):
    """Gives what is in a record: (series, [(time, value, version)]) for each series, and
    (None, deletion) for each deletion."""
    workspace = str(uuid.UUID(bytes=record.workspace_id))
    for s in record.series:
        series = {
            "workspace": workspace,
            "id": f"{s.series_id:016x}",
            "source": str(uuid.UUID(bytes=s.source_id)),
            "metric": s.metric,
            "tags": json.dumps({t.key: t.value for t in s.tags}, ensure_ascii=False),
        }
        times = [at * s.timestamp_unit_us for at in accumulate(s.timestamp_deltas)]  # microseconds since 1970
        times = times or accumulate(s.timestamp_deltas_us)
        power = 10**s.decimal_scale  # integers divided by it are the very floats that were accepted
        decimals = [integer / power for integer in accumulate(s.decimal_deltas)]
        yield series, [(at, value, version) for at, value in zip(times, decimals or s.values or s.texts)]
    for d in record.deletions:
        yield (
            None,
            {
                "workspace": workspace,
                "whole_workspace": d.whole_workspace,
                "whole": d.whole_source,
                "version": version,
                "source": None if d.whole_workspace else str(uuid.UUID(bytes=d.source_id)),
                "metric": d.metric if d.HasField("metric") else None,
                "from_us": d.from_us if d.HasField("from_us") else None,
                "to_us": d.to_us if d.HasField("to_us") else None,
            },
        )


def print_line(**line):
    """Prints a line of JSON."""
    print(json.dumps(line, ensure_ascii=False))


def print_points(series, points):
    """Prints a line for each point."""
    for at, value, version in points:
        print_line(
            workspace=series["workspace"],
            source=series["source"],
            metric=series["metric"],
            tags=json.loads(series["tags"]),
            time=stamp(at),
            value=value,
            version=version,
        )


def print_deletion(d):
    """Prints a line that says what is gone."""
    print_line(
        workspace=d["workspace"],
        deleted=d["source"],
        metric=d["metric"],
        wholeSource=d["whole"],
        wholeWorkspace=d["whole_workspace"],
        version=d["version"],
        **{name: None if d[us] is None else stamp(d[us]) for name, us in (("from", "from_us"), ("to", "to_us"))},
    )


def take(message, options, table):
    """Does what one record asks for."""
    record = PointsRecord()
    try:
        record.ParseFromString(message.value() or b"")
    except DecodeError as error:
        print(f"partition {message.partition()}, offset {message.offset()} is passed over: {error}", file=sys.stderr)
        return
    if len(record.workspace_id) != 16 or (
        options.workspace and uuid.UUID(bytes=record.workspace_id) != options.workspace
    ):
        return
    for series, content in read(record, version_of(message)):
        if table:
            table.put(series, content) if series else table.remove(content)
        elif series:
            print_points(series, content)
        else:
            print_deletion(content)


def run(options):
    """Consumes until it is told to end, or with --until-end has read everything."""
    table = Table(options.db) if options.summary else None
    member = Member(options)
    stopped = []
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopped.append(True))
    try:
        while not stopped and not (options.until_end and member.reached()):
            messages = member.consumer.consume(500, timeout=0.5)
            for message in messages:
                if message.error():
                    raise KafkaException(message.error())
                take(message, options, table)
                member.next[message.partition()] = message.offset() + 1
            if messages:  # first what is done is safe, then it is committed
                table.commit() if table else sys.stdout.flush()
                member.consumer.commit(asynchronous=False)
    finally:
        member.consumer.close()
    if table:
        for workspace, source, metric, tags, count, total, last in table.summary():
            print_line(
                workspace=workspace,
                source=source,
                metric=metric,
                tags=json.loads(tags),
                count=count,
                sum=total,
                last=last,
            )


def parse():
    """Reads the command line."""
    p = argparse.ArgumentParser(description="Reads points from Livegraph's log.")
    p.add_argument(
        "--brokers", default=os.environ.get("LIVEGRAPH_KAFKA_BROKERS"), help="addresses of Kafka, host:port, by comma"
    )
    p.add_argument("--topic", default="points", help="the topic, with its prefix")
    p.add_argument(
        "--group", default="example-python", help="the consumer group; another one reads from the beginning"
    )
    p.add_argument("--workspace", type=uuid.UUID, help="only points of this workspace")
    p.add_argument("--from-offset", type=int, metavar="N", help="read again from this offset of each partition")
    p.add_argument(
        "--from-time",
        type=lambda t: datetime.fromisoformat(t),
        metavar="TIME",
        help="read again what the log has got since then (RFC 3339)",
    )
    p.add_argument("--until-end", action="store_true", help="stop when all is read that is there at the start")
    p.add_argument(
        "--summary", action="store_true", help="keep a table, and print a line a series at the end, not one a point"
    )
    p.add_argument(
        "--db",
        default=":memory:",
        metavar="FILE",
        help="where the table is kept; with a group of its own it goes on where it was",
    )
    options = p.parse_args()
    if not options.brokers:
        p.error("--brokers is missing: `livegraph topics` shows the address of Kafka")
    return options


if __name__ == "__main__":
    run(parse())
