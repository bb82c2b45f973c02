// The alerts, files of rules, webhooks and Alertmanagers of a workspace.

import { keepPreviousData, useQuery } from '@tanstack/react-query'

import { api, type Query } from '@/api'
import type { ApiSchemas } from '@/api/schemas'
import type { Tone } from '@/ui'

export type Alert = ApiSchemas['Alert']
export type RuleFile = ApiSchemas['ListedRuleFile']
export type RuleFileText = ApiSchemas['RuleFileAnswer']['data']
export type RuleProblem = ApiSchemas['RuleProblem']
export type Webhook = ApiSchemas['Webhook']
export type Delivery = ApiSchemas['WebhookDelivery']

export const PAGE = 50
const POLL_MS = 5_000

/** The key of all queries of a workspace on this page. */
export const keyOf = (workspace: string) => ['alerts', workspace] as const

/** The key of the list of files. */
export const filesKey = (workspace: string) => [...keyOf(workspace), '/rules'] as const

/** Returns a page of a list, which is read again every five seconds. */
export function useList<T>(workspace: string, path: string, query: Query) {
  return useQuery({
    queryKey: [...keyOf(workspace), path, query],
    queryFn: ({ signal }) => api.list<T>(path, { workspace, query: { limit: PAGE, ...query }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  })
}

export const ALERT_TONES: Record<Alert['state'], Tone> = { firing: 'bad', pending: 'warn' }

export const DELIVERY_TONES: Record<Delivery['state'], Tone> = {
  delivered: 'ok',
  pending: 'warn',
  failed: 'bad',
}

/** Returns the labels of an alert as `name=value`, sorted by name. */
export function labelsText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}

/** Returns the value of an alert, which the API has as `9.5e+01`, in usual notation. */
export function valueText(value: string): string {
  const number = Number(value)
  return Number.isFinite(number) ? String(Number(number.toPrecision(6))) : value
}
