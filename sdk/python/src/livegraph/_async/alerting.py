"""Rules, alerts and webhooks."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from .._request import JSON, Id, Request, encode, fields, part, query
from .._response import Page
from ..types import (
    Alert,
    Alertmanager,
    Alertmanagers,
    EntityType,
    ListedRuleFile,
    NewAlertmanager,
    PutRuleFileAnswerData,
    RuleFileAnswerData,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryState,
    WebhookEvents,
    WebhookWithSecret,
)
from .transport import AsyncTransport

RULES = "/api/rules"
ALERTS = "/api/alerts"
ALERTMANAGERS = "/api/alertmanagers"
WEBHOOKS = "/api/webhooks"


class AsyncRules:
    """Files of recording and alerting rules in the format of Prometheus."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def put(self, name: str, content: str, *, dry_run: bool = False) -> PutRuleFileAnswerData:
        """Creates or replaces a file. The rules are evaluated from about a second later on.

        Args:
            name: 1 to 100 letters, digits, dots, hyphens and underscores.
            content: The file in YAML, at most 256 KiB and 500 rules.
            dry_run: Check the file only. It requires no other scope.

        Raises:
            ValidationError: The file has errors, and nothing has changed. ``details["problems"]`` lists them with
                their lines.
        """
        return await self._transport.data(
            Request[PutRuleFileAnswerData](
                "PUT",
                f"{RULES}/{part(name)}",
                query=query(dry_run=True if dry_run else None),
                body=content.encode(),
                headers={"Content-Type": "application/yaml"},
            )
        )

    async def get(self, name: str) -> RuleFileAnswerData:
        """Returns a file with its text, as it was sent."""
        return await self._transport.data(Request[RuleFileAnswerData]("GET", f"{RULES}/{part(name)}"))

    async def list(self, *, limit: int = 100, offset: int | None = None) -> Page[ListedRuleFile]:
        """Returns a page of at most 100 files by name, without their texts, and whether their rules fail."""
        paging = query(limit=limit, offset=offset)
        return await self._transport.page(Request[ListedRuleFile]("GET", RULES, query=paging))

    def iterate(self) -> AsyncIterator[ListedRuleFile]:
        """Iterates over all files by name, without their texts."""
        return self._transport.pages(Request[ListedRuleFile]("GET", RULES, query=query(limit=100)))

    async def delete(self, name: str) -> None:
        """Deletes a file. Its alerts are resolved about a second later.

        Raises:
            NotFoundError: The file does not exist. After a connection that broke, this may be the result of the
                repeated request.
        """
        await self._transport.data(Request[None]("DELETE", f"{RULES}/{part(name)}"))


class AsyncAlerts:
    """The active alerts of the rules, and the Alertmanagers to which they are sent."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(
        self, *, state: Literal["firing", "pending"] | None = None, limit: int = 100, offset: int | None = None
    ) -> Page[Alert]:
        """Returns a page of at most 100 alerts: those that fire, then those that are pending, newest first."""
        parameters = query(state=state, limit=limit, offset=offset)
        return await self._transport.page(Request[Alert]("GET", ALERTS, query=parameters))

    def iterate(self, *, state: Literal["firing", "pending"] | None = None) -> AsyncIterator[Alert]:
        """Iterates over all active alerts, page by page."""
        return self._transport.pages(Request[Alert]("GET", ALERTS, query=query(state=state, limit=100)))

    async def alertmanagers(self) -> Sequence[Alertmanager]:
        """Returns the Alertmanagers of the workspace by URL, without their secrets.

        It requires the scope ``admin``.
        """
        return (await self._transport.data(Request[Alertmanagers]("GET", ALERTMANAGERS)))["alertmanagers"]

    async def set_alertmanagers(self, alertmanagers: Sequence[NewAlertmanager]) -> Sequence[Alertmanager]:
        """Replaces the Alertmanagers of the workspace and returns them, without their secrets.

        It requires the scope ``admin``.

        Args:
            alertmanagers: At most 10. A ``password``, a ``token`` or the ``value`` of a header that is absent stays
                as it is stored for the same URL.

        Raises:
            ValidationError: An address or a header is not allowed, or no secret is given or stored.
        """
        body = encode({"alertmanagers": [*alertmanagers]})
        return (await self._transport.data(Request[Alertmanagers]("PUT", ALERTMANAGERS, body=body, headers=JSON)))[
            "alertmanagers"
        ]


class AsyncWebhooks:
    """Addresses to which events of the workspace are sent. All methods require the scope ``admin``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        name: str,
        url: str,
        events: WebhookEvents,
        *,
        labels: Mapping[str, str] | None = None,
        entity_types: Sequence[EntityType] | None = None,
        relation_types: Sequence[str] | None = None,
        node_ids: Sequence[Id] | None = None,
        enabled: bool = True,
    ) -> WebhookWithSecret:
        """Creates a webhook for the events that occur from now on, and returns it with its ``secret``.

        The request is not repeated if the server may have executed it.

        Args:
            name: Unique among the webhooks of the workspace.
            url: The address, which must be a public one unless the operator allows others.
            events: The types of events, such as ``alert.firing``.
            labels: Only alerts with all of these labels.
            entity_types: Only nodes of these types.
            relation_types: Only edges of these types.
            node_ids: Only these nodes, and edges that begin or end at one of them.
            enabled: Whether events are sent.

        Raises:
            ConflictError: The name exists.
        """
        body = encode(
            fields(
                name=name,
                url=url,
                events=events,
                labels=labels,
                entity_types=entity_types,
                relation_types=relation_types,
                node_ids=None if node_ids is None else [str(node) for node in node_ids],
                enabled=enabled,
            )
        )
        return await self._transport.data(
            Request[WebhookWithSecret]("POST", WEBHOOKS, body=body, headers=JSON, repeatable=False)
        )

    async def get(self, id: Id) -> Webhook:
        """Returns a webhook, without its secret."""
        return await self._transport.data(Request[Webhook]("GET", f"{WEBHOOKS}/{part(id)}"))

    async def list(self, *, limit: int = 100, offset: int | None = None) -> Page[Webhook]:
        """Returns a page of at most 100 webhooks by name."""
        paging = query(limit=limit, offset=offset)
        return await self._transport.page(Request[Webhook]("GET", WEBHOOKS, query=paging))

    def iterate(self) -> AsyncIterator[Webhook]:
        """Iterates over all webhooks by name."""
        return self._transport.pages(Request[Webhook]("GET", WEBHOOKS, query=query(limit=100)))

    async def update(self, id: Id, changes: Mapping[str, Any]) -> Webhook:
        """Changes the fields of ``WebhookPatch`` in changes and returns the webhook.

        The changes are a merge patch: None removes a filter, ``labels`` are merged, lists are replaced.
        """
        body = encode(dict(changes))
        return await self._transport.data(Request[Webhook]("PATCH", f"{WEBHOOKS}/{part(id)}", body=body, headers=JSON))

    async def delete(self, id: Id) -> None:
        """Deletes a webhook with its deliveries.

        Raises:
            NotFoundError: The webhook does not exist. After a connection that broke, this may be the result of the
                repeated request.
        """
        await self._transport.data(Request[None]("DELETE", f"{WEBHOOKS}/{part(id)}"))

    async def roll_secret(self, id: Id) -> WebhookWithSecret:
        """Returns the webhook with a new secret. For 24 hours requests have the signatures of both secrets.

        The request is not repeated if the server may have executed it.
        """
        path = f"{WEBHOOKS}/{part(id)}/roll-secret"
        return await self._transport.data(Request[WebhookWithSecret]("POST", path, repeatable=False))

    async def test(self, id: Id) -> WebhookDelivery:
        """Sends an event ``webhook.test``, and returns its delivery.

        Raises:
            ConflictError: The webhook is disabled, or its queue is full.
        """
        path = f"{WEBHOOKS}/{part(id)}/test"
        return await self._transport.data(Request[WebhookDelivery]("POST", path, repeatable=False))

    async def deliveries(
        self, id: Id, *, state: WebhookDeliveryState | None = None, limit: int = 100, offset: int | None = None
    ) -> Page[WebhookDelivery]:
        """Returns a page of at most 100 deliveries of a webhook, newest first."""
        parameters = query(state=state, limit=limit, offset=offset)
        path = f"{WEBHOOKS}/{part(id)}/deliveries"
        return await self._transport.page(Request[WebhookDelivery]("GET", path, query=parameters))

    def iterate_deliveries(
        self, id: Id, *, state: WebhookDeliveryState | None = None
    ) -> AsyncIterator[WebhookDelivery]:
        """Iterates over the deliveries of a webhook, newest first, page by page."""
        path = f"{WEBHOOKS}/{part(id)}/deliveries"
        return self._transport.pages(Request[WebhookDelivery]("GET", path, query=query(state=state, limit=100)))

    async def redeliver(self, id: Id, delivery_id: Id) -> WebhookDelivery:
        """Sends a delivery again, in whatever state it is. The receiver gets the same ``webhook-id``.

        Raises:
            ConflictError: The webhook is disabled.
        """
        path = f"{WEBHOOKS}/{part(id)}/deliveries/{part(delivery_id)}/redeliver"
        return await self._transport.data(Request[WebhookDelivery]("POST", path, repeatable=False))
