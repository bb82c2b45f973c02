/** Webhooks. */

import type { OffsetPage, RequestOptions } from './filters.js'
import { encode, json, part, query, type Request } from './request.js'
import type { Page } from './response.js'
import type { Transport } from './transport.js'
import type { NewWebhook, Webhook, WebhookChanges, WebhookDelivery, WebhookWithSecret } from './types.js'

const path = '/api/webhooks'

/** Selects deliveries. */
export interface DeliveryFilter {
  state?: WebhookDelivery['state']
}

/** Addresses to which events of the workspace are sent. All methods require the scope `admin`. */
export class Webhooks {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a webhook for the events that occur from now on, and returns it with its `secret`.
   *
   * The request is not repeated if the server may have executed it.
   *
   * @throws ConflictError if the name exists
   */
  create(webhook: NewWebhook, options: RequestOptions = {}): Promise<WebhookWithSecret> {
    return this.#transport.data<WebhookWithSecret>(
      { method: 'POST', path, body: encode(webhook), headers: json, repeatable: false },
      options,
    )
  }

  /** Returns a webhook, without its secret. */
  get(id: string, options: RequestOptions = {}): Promise<Webhook> {
    return this.#transport.data<Webhook>({ method: 'GET', path: `${path}/${part(id)}` }, options)
  }

  /** Returns a page of at most 100 webhooks by name. */
  list({ signal, ...page }: OffsetPage & RequestOptions = {}): Promise<Page<Webhook>> {
    return this.#transport.page<Webhook>(
      { method: 'GET', path, query: query({ limit: 100, ...page }) },
      { signal },
    )
  }

  /** Iterates over all webhooks by name. */
  iterate(options: RequestOptions = {}): AsyncGenerator<Webhook, void, undefined> {
    return this.#transport.pages<Webhook>({ method: 'GET', path, query: query({ limit: 100 }) }, options)
  }

  /**
   * Changes the fields of a webhook and returns it.
   *
   * The changes are a merge patch: null removes a filter, `labels` are merged, lists are replaced.
   */
  update(id: string, changes: WebhookChanges, options: RequestOptions = {}): Promise<Webhook> {
    return this.#transport.data<Webhook>(
      { method: 'PATCH', path: `${path}/${part(id)}`, body: encode(changes), headers: json },
      options,
    )
  }

  /**
   * Deletes a webhook with its deliveries.
   *
   * @throws NotFoundError if the webhook does not exist. After a connection that broke, this may be the result of the
   *   repeated request.
   */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.data({ method: 'DELETE', path: `${path}/${part(id)}` }, options)
  }

  /**
   * Returns the webhook with a new secret. For 24 hours requests have the signatures of both secrets.
   *
   * The request is not repeated if the server may have executed it.
   */
  rollSecret(id: string, options: RequestOptions = {}): Promise<WebhookWithSecret> {
    return this.#transport.data(action<WebhookWithSecret>(`${path}/${part(id)}/roll-secret`), options)
  }

  /**
   * Sends an event `webhook.test`, and returns its delivery.
   *
   * @throws ConflictError if the webhook is disabled, or its queue is full
   */
  test(id: string, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.#transport.data(action<WebhookDelivery>(`${path}/${part(id)}/test`), options)
  }

  /** Returns a page of at most 100 deliveries of a webhook, newest first. */
  deliveries(
    id: string,
    { signal, ...filter }: DeliveryFilter & OffsetPage & RequestOptions = {},
  ): Promise<Page<WebhookDelivery>> {
    return this.#transport.page<WebhookDelivery>(
      { method: 'GET', path: `${path}/${part(id)}/deliveries`, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /** Iterates over the deliveries of a webhook, newest first, page by page. */
  iterateDeliveries(
    id: string,
    { signal, ...filter }: DeliveryFilter & RequestOptions = {},
  ): AsyncGenerator<WebhookDelivery, void, undefined> {
    return this.#transport.pages<WebhookDelivery>(
      { method: 'GET', path: `${path}/${part(id)}/deliveries`, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /**
   * Sends a delivery again, in whatever state it is. The receiver gets the same `webhook-id`.
   *
   * @throws ConflictError if the webhook is disabled
   */
  redeliver(id: string, deliveryId: string, options: RequestOptions = {}): Promise<WebhookDelivery> {
    const delivery = `${path}/${part(id)}/deliveries/${part(deliveryId)}`
    return this.#transport.data(action<WebhookDelivery>(`${delivery}/redeliver`), options)
  }
}

function action<T>(target: string): Request<T> {
  return { method: 'POST', path: target, repeatable: false }
}
