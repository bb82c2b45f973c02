/** Rules, their alerts, and the Alertmanagers to which these are sent. */

import type { OffsetPage, RequestOptions } from './filters.js'
import { encode, json, part, query } from './request.js'
import type { Page } from './response.js'
import type { Transport } from './transport.js'
import type {
  Alert,
  Alertmanager,
  ListedRuleFile,
  NewAlertmanager,
  RuleFile,
  StoredRuleFile,
} from './types.js'

const path = '/api/rules'
const alertsPath = '/api/alerts'
const alertmanagersPath = '/api/alertmanagers'

/** Files of recording and alerting rules in the format of Prometheus. */
export class Rules {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates or replaces a file. The rules are evaluated from about a second later on.
   *
   * @param name 1 to 100 letters, digits, dots, hyphens and underscores
   * @param content the file in YAML, at most 256 KiB and 500 rules
   * @param options `dryRun`: check the file only
   * @throws ValidationError if the file has errors; nothing has changed, and `details.problems` lists them with their
   *   lines
   */
  put(
    name: string,
    content: string,
    { signal, dryRun }: RequestOptions & { dryRun?: boolean } = {},
  ): Promise<StoredRuleFile> {
    return this.#transport.data<StoredRuleFile>(
      {
        method: 'PUT',
        path: `${path}/${part(name)}`,
        query: query({ dryRun }),
        body: content,
        headers: { 'Content-Type': 'application/yaml' },
      },
      { signal },
    )
  }

  /** Returns a file with its text, as it was sent. */
  get(name: string, options: RequestOptions = {}): Promise<RuleFile> {
    return this.#transport.data<RuleFile>({ method: 'GET', path: `${path}/${part(name)}` }, options)
  }

  /** Returns a page of at most 100 files by name, without their texts, and whether their rules fail. */
  list({ signal, ...page }: OffsetPage & RequestOptions = {}): Promise<Page<ListedRuleFile>> {
    return this.#transport.page<ListedRuleFile>(
      { method: 'GET', path, query: query({ limit: 100, ...page }) },
      { signal },
    )
  }

  /** Iterates over all files by name, without their texts. */
  iterate(options: RequestOptions = {}): AsyncGenerator<ListedRuleFile, void, undefined> {
    return this.#transport.pages<ListedRuleFile>(
      { method: 'GET', path, query: query({ limit: 100 }) },
      options,
    )
  }

  /**
   * Deletes a file. Its alerts are resolved about a second later.
   *
   * @throws NotFoundError if the file does not exist. After a connection that broke, this may be the result of the
   *   repeated request.
   */
  async delete(name: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.data({ method: 'DELETE', path: `${path}/${part(name)}` }, options)
  }
}

/** Selects alerts. */
export interface AlertFilter {
  state?: Alert['state']
}

/** The active alerts of the rules, and the Alertmanagers to which they are sent. */
export class Alerts {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Returns a page of at most 100 alerts: those that fire, then those that are pending, newest first. */
  list({ signal, ...filter }: AlertFilter & OffsetPage & RequestOptions = {}): Promise<Page<Alert>> {
    return this.#transport.page<Alert>(
      { method: 'GET', path: alertsPath, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /** Iterates over all active alerts, page by page. */
  iterate({ signal, ...filter }: AlertFilter & RequestOptions = {}): AsyncGenerator<Alert, void, undefined> {
    return this.#transport.pages<Alert>(
      { method: 'GET', path: alertsPath, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /** Returns the Alertmanagers of the workspace by URL, without their secrets. It requires the scope `admin`. */
  async alertmanagers(options: RequestOptions = {}): Promise<Alertmanager[]> {
    const { alertmanagers } = await this.#transport.data<{ alertmanagers: Alertmanager[] }>(
      { method: 'GET', path: alertmanagersPath },
      options,
    )
    return alertmanagers
  }

  /**
   * Replaces the Alertmanagers of the workspace and returns them, without their secrets. It requires the scope `admin`.
   *
   * @param alertmanagers at most 10. A `password`, a `token` or the `value` of a header that is absent stays as it is
   *   stored for the same URL.
   * @throws ValidationError if an address or a header is not allowed, or if no secret is given or stored
   */
  async setAlertmanagers(
    alertmanagers: readonly NewAlertmanager[],
    options: RequestOptions = {},
  ): Promise<Alertmanager[]> {
    const stored = await this.#transport.data<{ alertmanagers: Alertmanager[] }>(
      { method: 'PUT', path: alertmanagersPath, body: encode({ alertmanagers }), headers: json },
      options,
    )
    return stored.alertmanagers
  }
}
