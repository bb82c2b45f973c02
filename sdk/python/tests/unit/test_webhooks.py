"""The signatures of webhooks."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from livegraph import webhooks

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OTHER = "whsec_" + base64.b64encode(bytes(32)).decode()
NOW = 1_795_851_608
EVENT = {
    "id": "5d0c1c1e-5c0a-5f0e-9a57-0d4f3f0b7a11",
    "type": "alert.firing",
    "timestamp": "2026-11-28T07:40:08.290296Z",
    "workspaceId": "01994d8a-0000-7000-8000-000000000001",
    "data": {"alertname": "Hot", "value": "91.5"},
}
BODY = json.dumps(EVENT).encode()


def headers(body: bytes = BODY, at: int = NOW, key: bytes = KEY) -> dict[str, str]:
    """Returns the headers of a request, signed as Standard Webhooks specifies."""
    message = EVENT["id"].encode() + f".{at}.".encode() + body  # type: ignore[attr-defined]
    signature = base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
    return {"Webhook-Id": str(EVENT["id"]), "webhook-timestamp": str(at), "WEBHOOK-SIGNATURE": f"v1,{signature}"}


def test_a_signed_request_becomes_an_event() -> None:
    event = webhooks.verify(SECRET, headers(), BODY, now=NOW + 299)
    assert (event.id, event.type, event.data) == (EVENT["id"], "alert.firing", EVENT["data"])
    assert (event.timestamp, event.workspace_id) == (EVENT["timestamp"], EVENT["workspaceId"])


def test_one_of_several_secrets_and_signatures_is_enough() -> None:
    both = headers(key=bytes(32))
    both["WEBHOOK-SIGNATURE"] += " v2,abc " + headers()["WEBHOOK-SIGNATURE"]
    assert webhooks.verify(SECRET, both, BODY, now=NOW).id == EVENT["id"]
    assert webhooks.verify([OTHER, SECRET], headers(), BODY, now=NOW).id == EVENT["id"]


@pytest.mark.parametrize(
    ("changed", "body", "now"),
    [
        ({}, BODY + b" ", NOW),
        ({}, BODY, NOW + 301),
        ({}, BODY, NOW - 301),
        ({"webhook-timestamp": str(NOW + 1)}, BODY, NOW),
        ({"webhook-timestamp": "now"}, BODY, NOW),
        ({"webhook-timestamp": "\u0661"}, BODY, NOW),
        ({"Webhook-Id": "x"}, BODY, NOW),
        ({"Webhook-Id": ""}, BODY, NOW),
        ({"WEBHOOK-SIGNATURE": ""}, BODY, NOW),
        ({"WEBHOOK-SIGNATURE": "v1,"}, BODY, NOW),
        ({"WEBHOOK-SIGNATURE": "v1,\u00e4"}, BODY, NOW),
        ({"WEBHOOK-SIGNATURE": headers()["WEBHOOK-SIGNATURE"].replace("v1,", "v2,")}, BODY, NOW),
        ({"WEBHOOK-SIGNATURE": headers(key=bytes(32))["WEBHOOK-SIGNATURE"]}, BODY, NOW),
    ],
)
def test_other_requests_are_refused(changed: dict[str, Any], body: bytes, now: int) -> None:
    with pytest.raises(webhooks.SignatureError):
        webhooks.verify(SECRET, headers() | changed, body, now=now)


def test_an_old_request_is_accepted_with_another_tolerance() -> None:
    assert webhooks.verify(SECRET, headers(), BODY, now=NOW + 3600, tolerance=3600).id == EVENT["id"]


def test_the_current_time_is_the_default() -> None:
    with pytest.raises(webhooks.SignatureError, match="too long ago"):
        webhooks.verify(SECRET, headers(at=1_600_000_000), BODY)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!", SECRET.removeprefix("whsec_"), "whsec_a"])
def test_a_wrong_secret_is_an_error_of_the_program(secret: str) -> None:
    with pytest.raises(ValueError, match="begins with whsec_") as caught:
        webhooks.verify(secret, headers(), BODY, now=NOW)
    assert secret == "" or secret not in str(caught.value) or secret == "whsec_"
