"""Rules, alerts and webhooks."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import pytest

from livegraph import AsyncClient, Client, ConflictError, NotFoundError, ValidationError, webhooks

RULES = """
groups:
  - name: machines
    interval: 1s
    rules:
      - alert: {alert}
        expr: vector(91.5) > 90
        labels: {{severity: page}}
"""

Received = tuple[dict[str, str], bytes]


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + 30
    while not (result := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.2)
    return result


@pytest.fixture
def receiver() -> Iterator[tuple[str, "Queue[Received]"]]:
    """The address of a server, and the requests that it received."""
    received: Queue[Received] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.put((dict(self.headers), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", received
    server.shutdown()
    thread.join()
    server.server_close()


def test_rules_are_checked_stored_and_evaluated(client: Client) -> None:
    name, alert = f"machines-{uuid.uuid4().hex}", f"Hot_{uuid.uuid4().hex}"
    with pytest.raises(ValidationError) as caught:
        client.rules.put(name, RULES.format(alert=alert).replace("> 90", "> ("))
    assert caught.value.details["problems"][0]["line"] >= 6
    checked = client.rules.put(name, RULES.format(alert=alert), dry_run=True)
    assert (checked["rules"], "version" in checked) == (1, False)
    with pytest.raises(NotFoundError):
        client.rules.get(name)
    stored = client.rules.put(name, RULES.format(alert=alert))
    read = client.rules.get(name)
    assert (read["content"], read["version"]) == (RULES.format(alert=alert), stored.get("version"))
    assert name in [file["name"] for file in client.rules.iterate()]
    assert client.rules.list(limit=1).total >= 1
    [found] = wait_for(lambda: [a for a in client.alerts.iterate(state="firing") if a["name"] == alert], "no alert")
    assert (found["file"], found["labels"]["severity"], float(found["value"])) == (name, "page", 91.5)
    assert client.alerts.list(limit=1).total >= 1
    client.rules.delete(name)
    wait_for(lambda: alert not in [a["name"] for a in client.alerts.iterate()], "the alert is not resolved")


def test_secrets_of_alertmanagers_are_not_returned(client: Client) -> None:
    url = "https://alerts.example.com"
    [stored] = client.alerts.set_alertmanagers(
        [
            {
                "url": url,
                "authorization": {"type": "basic", "username": "ops", "password": "correct horse"},
                "headers": [{"name": "X-Tenant", "value": "a"}],
            }
        ]
    )
    assert stored["authorization"] == {"type": "basic", "username": "ops"}
    assert stored["headers"] == [{"name": "X-Tenant"}]
    assert client.alerts.alertmanagers() == [stored]
    with pytest.raises(ValidationError) as caught:
        client.alerts.set_alertmanagers([{"url": url + "/other", "authorization": {"type": "bearer"}}])
    assert caught.value.details["field"] == "alertmanagers[0].authorization.token"
    [kept] = client.alerts.set_alertmanagers([{"url": url, "authorization": {"type": "basic", "username": "ops"}}])
    assert (kept["authorization"], kept["headers"]) == (stored["authorization"], [])
    assert client.alerts.set_alertmanagers([]) == []


def test_webhooks_send_signed_events(client: Client, receiver: tuple[str, "Queue[Received]"]) -> None:
    url, received = receiver
    name = f"on call {uuid.uuid4()}"
    room = client.nodes.create("Room", "concept")
    hook = client.webhooks.create(name, url, ["node.updated"], entity_types=["concept"], node_ids=[room["id"]])
    with pytest.raises(ConflictError):
        client.webhooks.create(name, url, ["node.updated"])
    secret = hook["secret"]
    client.nodes.update(room["id"], {"name": "Room 7"})
    event = webhooks.verify(secret, *received.get(timeout=30))
    assert (event.type, event.data["node"]["name"]) == ("node.updated", "Room 7")
    with pytest.raises(webhooks.SignatureError):
        webhooks.verify("whsec_" + "A" * 43 + "=", {"webhook-id": event.id}, b"")

    rolled = client.webhooks.roll_secret(hook["id"])["secret"]
    tested = client.webhooks.test(hook["id"])
    headers, body = received.get(timeout=30)
    for each in (secret, rolled):
        assert webhooks.verify(each, headers, body).type == "webhook.test"
    delivered = wait_for(
        lambda: list(client.webhooks.iterate_deliveries(hook["id"], state="delivered"))[1:], "pending"
    )
    assert client.webhooks.deliveries(hook["id"], limit=1).total == 2
    assert delivered[0]["eventType"] == "node.updated"
    client.webhooks.redeliver(hook["id"], tested["id"])
    assert webhooks.verify(rolled, *received.get(timeout=30)).id == tested["eventId"]

    changed = client.webhooks.update(hook["id"], {"enabled": False, "entityTypes": None})
    assert (changed["enabled"], changed["entityTypes"]) == (False, [])
    with pytest.raises(ConflictError):
        client.webhooks.test(hook["id"])
    assert client.webhooks.get(hook["id"])["name"] in [each["name"] for each in client.webhooks.iterate()]
    assert client.webhooks.list(limit=1).total >= 1
    client.webhooks.delete(hook["id"])
    with pytest.raises(NotFoundError):
        client.webhooks.get(hook["id"])


async def test_the_methods_for_asyncio_are_the_same(async_client: AsyncClient) -> None:
    name = f"empty-{uuid.uuid4().hex}"
    await async_client.rules.put(name, "groups: [{name: none, rules: []}]")
    assert name in [file["name"] async for file in async_client.rules.iterate()]
    await async_client.rules.delete(name)
    assert [alert async for alert in async_client.alerts.iterate(state="pending")] == []
    assert (await async_client.webhooks.list()).total >= 0
