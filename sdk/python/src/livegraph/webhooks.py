"""Verifies the requests that webhooks send. It needs no client and no service."""

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PREFIX = "whsec_"
TOLERANCE_SECONDS = 300.0
"""How far the time of a request may be from now. Older requests could be copies that somebody sends again."""


class SignatureError(Exception):
    """A request was not sent by a webhook with this secret, or too long ago. Answer it with 401."""


@dataclass(frozen=True)
class WebhookEvent:
    """An event that was received.

    Attributes:
        id: The same for all attempts to send the event. Ignore ids that were processed.
        type: The type, such as ``alert.firing``.
        timestamp: When the event occurred, in RFC 3339.
        workspace_id: The id of the workspace.
        data: The fields of events of this type, as docs/webhooks.md lists them.
    """

    id: str
    type: str
    timestamp: str
    workspace_id: str
    data: dict[str, Any]


def verify(
    secret: str | Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> WebhookEvent:
    """Returns the event in a request after it has checked the signature.

    Args:
        secret: The secret of the webhook, or several, of which one must match.
        headers: The headers of the request, with names in any case.
        body: The body as it was received, before any decoding.
        tolerance: The seconds that the time of the request may differ from now.
        now: The seconds since 1970 that are compared with the time of the request. The default is the current time.

    Raises:
        SignatureError: No signature matches, or the time of the request differs too much.
        ValueError: A secret is not one of a webhook.
    """
    names = {name.lower(): value for name, value in headers.items()}
    event_id, sent, signatures = (names.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (event_id and sent and signatures):
        raise SignatureError("the request has no signature")
    if not (sent.isascii() and sent.isdigit()):
        raise SignatureError("the time of the request is not a number")
    if abs((time.time() if now is None else now) - int(sent)) > tolerance:
        raise SignatureError("the request was sent too long ago, or in the future")
    signed = b".".join((event_id.encode(), sent.encode(), body))
    given = [value.encode() for version, _, value in (each.partition(",") for each in signatures.split(" "))
             if version == "v1"]  # fmt: skip
    matches = False
    for key in map(_key, [secret] if isinstance(secret, str) else secret):
        expected = base64.b64encode(hmac.digest(key, signed, "sha256"))
        # Every signature is compared, in constant time.
        for value in given:
            matches |= hmac.compare_digest(expected, value)
    if not matches:
        raise SignatureError("the signature is wrong")
    event = json.loads(body)
    return WebhookEvent(event["id"], event["type"], event["timestamp"], event["workspaceId"], event["data"])


def _key(secret: str) -> bytes:
    encoded = secret.removeprefix(PREFIX)
    try:
        if encoded != secret and (key := base64.b64decode(encoded, validate=True)):
            return key
    except binascii.Error:
        pass
    raise ValueError(f"the secret of a webhook begins with {PREFIX}, and the rest is base64")
