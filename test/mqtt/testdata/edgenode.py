"""An edge node of Sparkplug B, of the library pysparkplug, that a test controls.

It reads commands from its standard input, a JSON object a line, and answers each with {"done": true}. It prints
{"command": NAME} for each command that it receives from a host.
"""

import json
import sys
import time
import warnings
from datetime import UTC, datetime

warnings.simplefilter("ignore")  # paho-mqtt 2 deprecates the callbacks of version 1

from paho.mqtt import client as paho

# pysparkplug calls this method of paho-mqtt 1, which did nothing and is not in version 2.
paho.Client.message_retry_set = lambda self, retry: None

import pysparkplug as sp

REBIRTH = "Node Control/Rebirth"


def report(**event):
    print(json.dumps(event), flush=True)


def metric(values):
    """Returns a metric of the library. With "send": "alias" it has no name."""
    datatype = sp.DataType[values["type"].upper()]
    value = values.get("value")
    if value is not None and datatype == sp.DataType.DATETIME:
        value = datetime.fromtimestamp(value / 1000, tz=UTC)
    if value is not None and datatype == sp.DataType.BYTES:
        value = value.encode()
    return sp.Metric(
        timestamp=values.get("time"),
        name=None if values.get("send") == "alias" else values["name"],
        datatype=datatype,
        value=value,
        alias=values.get("alias"),
        is_historical=values.get("historical", False),
        is_transient=values.get("transient", False),
    )


class Client(sp.Client):
    """Keeps the number of the last birth, which a birth on request has, too."""

    def publish(self, message, *, include_dtypes=False):
        if isinstance(message.payload, sp.NBirth):
            self.bd_seq = next(m for m in message.payload.metrics if m.name == "bdSeq")
        super().publish(message, include_dtypes=include_dtypes)


class Node:
    def __init__(self):
        self.client = Client()

    def command(self, node, message):
        for received in message.payload.metrics:
            report(command=received.name)
            if received.name == REBIRTH and received.value is True:
                self.publish_births()

    def create(self, group, node, metrics):
        self.node = sp.EdgeNode(group, node, [metric(m) for m in metrics], self.client, self.command)

    def connect(self, port):
        """Connects, which publishes the births of the node and of its devices."""
        self.node.connect("127.0.0.1", port=port)
        while not self.node._connected:
            time.sleep(0.01)

    def publish_births(self):
        """Answers a request for births, which the library leaves to the application."""
        now = sp.get_current_timestamp()
        metrics = (*self.node.metrics.values(), self.client.bd_seq)
        self.send("NBIRTH", None, sp.NBirth(timestamp=now, seq=0, metrics=metrics), 0)
        for name, device in self.node.devices.items():
            payload = sp.DBirth(timestamp=now, seq=self.node._seq, metrics=tuple(device.metrics.values()))
            self.send("DBIRTH", name, payload, 0)

    def send(self, kind, device, payload, qos, types=False):
        topic = sp.Topic(
            message_type=sp.MessageType[kind],
            group_id=self.node.group_id,
            edge_node_id=self.node.edge_node_id,
            device_id=device or None,
        )
        message = sp.Message(topic=topic, payload=payload, qos=sp.QoS(qos), retain=False)
        self.client.publish(message, include_dtypes=types)

    def data(self, metrics, device=None, qos=0):
        """Publishes data without types, as the specification asks for, by the client of the library."""
        kind, payload = ("DDATA", sp.DData) if device else ("NDATA", sp.NData)
        values = tuple(metric(m) for m in metrics)
        self.send(kind, device, payload(timestamp=sp.get_current_timestamp(), seq=self.node._seq, metrics=values), qos)

    def update(self, metrics, device=None):
        """Publishes data as the library does: with names and types, with QoS 0."""
        values = [metric(m) for m in metrics]
        if device:
            self.node.update_device(device, values)
        else:
            self.node.update(values)

    def register(self, device, metrics):
        self.node.register(sp.Device(device, [metric(m) for m in metrics]))

    def deregister(self, device):
        self.node.deregister(device)

    def disconnect(self):
        self.node.disconnect()


def main():
    node = Node()
    for line in sys.stdin:
        arguments = json.loads(line)
        getattr(node, arguments.pop("do"))(**arguments)
        report(done=True)


main()
