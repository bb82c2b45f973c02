// The form of a workspace and its requests.

import type { Mode, Plan, Workspace } from '@/api'

/** The plans with their limits; null if set for each workspace. */
export const PLANS: readonly {
  value: Plan
  label: string
  perMinute: number | null
  perDay: number | null
}[] = [
  { value: 'starter', label: 'Starter', perMinute: 60, perDay: 10_000 },
  { value: 'pro', label: 'Pro', perMinute: 300, perDay: 100_000 },
  { value: 'enterprise', label: 'Enterprise', perMinute: null, perDay: null },
]

/** Values as typed; empty for none. */
export interface Draft {
  name: string
  plan: Plan
  mode: Mode
  perMinute: string
  perDay: string
  maxSources: string
  maxSeries: string
  retentionDays: string
}

export const NEW: Draft = {
  name: '',
  plan: 'starter',
  mode: 'live',
  perMinute: '',
  perDay: '',
  maxSources: '',
  maxSeries: '',
  retentionDays: '',
}

const text = (n: number | null) => (n === null ? '' : String(n))

export const draftOf = (w: Workspace): Draft => ({
  name: w.name,
  plan: w.plan,
  mode: w.mode,
  perMinute: text(w.perMinute),
  perDay: text(w.perDay),
  maxSources: text(w.limits.sources),
  maxSeries: text(w.limits.series),
  retentionDays: text(w.retentionDays),
})

/** Parses an integer; null if the text is empty, undefined if it is invalid. */
export function parseWhole(typed: string): number | null | undefined {
  const plain = typed.replace(/[\s,_']/g, '')
  if (plain === '') return null
  return /^\d{1,15}$/.test(plain) ? Number(plain) : undefined
}

const NUMBERS = ['perMinute', 'perDay', 'maxSources', 'maxSeries', 'retentionDays'] as const
export type Problems = Partial<Record<keyof Draft, string>>

/** Returns the errors of a draft by field. */
export function problemsOf(draft: Draft): Problems {
  const problems: Problems = {}
  if (draft.name.trim() === '') problems.name = 'Enter a name'
  for (const field of NUMBERS) {
    const n = parseWhole(draft[field])
    if (n === undefined) problems[field] = 'A whole number, such as 5000'
    else if (n === 0 && field !== 'maxSources' && field !== 'maxSeries') problems[field] = 'At least 1'
  }
  return problems
}

/** Returns the body of a new workspace. */
export function bodyOfNew(draft: Draft): Record<string, unknown> {
  const body: Record<string, unknown> = { name: draft.name, plan: draft.plan, mode: draft.mode }
  for (const field of NUMBERS) {
    const n = parseWhole(draft[field])
    const custom = field === 'perMinute' || field === 'perDay'
    if (n != null && (!custom || draft.plan === 'enterprise')) body[field] = n
  }
  return body
}

function currentValue(w: Workspace, field: (typeof NUMBERS)[number]): number | null {
  if (field === 'maxSources') return w.limits.sources
  return field === 'maxSeries' ? w.limits.series : w[field]
}

/** Returns the body of an update with the changed fields; empty if there are none. */
export function bodyOfChange(before: Workspace, draft: Draft): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  if (draft.name !== before.name) body['name'] = draft.name
  if (draft.plan !== before.plan) body['plan'] = draft.plan
  for (const field of NUMBERS) {
    const n = parseWhole(draft[field]) ?? null
    const custom = field === 'perMinute' || field === 'perDay'
    if (custom && draft.plan !== 'enterprise') continue
    // Sources and series always have a limit: an emptied field stays unchanged.
    if (n === null && (field === 'maxSources' || field === 'maxSeries')) continue
    if (n !== currentValue(before, field)) body[field] = n
  }
  return body
}
