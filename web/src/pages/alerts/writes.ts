// Writes of files of rules and of Alertmanagers. The current state is read first: a change that somebody else made since
// the dialog was opened is reported and not overwritten.

import { api } from '@/api'

import type { RuleFile, RuleFileText } from './data'

/** The maximum number of files of a workspace. */
export const MAX_FILES = 100

/** The maximum number of Alertmanagers of a workspace. */
export const MAX_ALERTMANAGERS = 10

const FILES = '/rules'

/** Returns the path of a file. */
export const pathOf = (name: string) => `${FILES}/${encodeURIComponent(name)}`

/** Returns a file with its text. */
export const readFile = (workspace: string, name: string, signal?: AbortSignal) =>
  api.get<RuleFileText>(pathOf(name), { workspace, signal })

const raw = (text: string) => ({ type: 'application/yaml', text })

/** Checks a text of rules without storing it. */
export const checkFile = (workspace: string, name: string, text: string) =>
  api.put<Pick<RuleFile, 'name' | 'groups' | 'rules'>>(pathOf(name), {
    workspace,
    query: { dryRun: true },
    raw: raw(text),
    readOnly: true,
  })

/** The result of a write: done, or not done because of the state `theirs`, which somebody else wrote. */
export type Outcome<T> = { saved: true } | { saved: false; theirs: T }

/**
 * Creates or replaces a file if its stored version is still that of `base`. `base` is null if there must be no file of
 * the name; `theirs` is null if there is none any more.
 */
export async function saveFile(
  workspace: string,
  name: string,
  text: string,
  base: Pick<RuleFileText, 'version'> | null,
): Promise<Outcome<RuleFileText | null>> {
  const list = await api.list<RuleFile>(FILES, { workspace, query: { limit: MAX_FILES } })
  const current = list.data.find((file) => file.name === name)
  if (current?.version !== base?.version)
    return { saved: false, theirs: current ? await readFile(workspace, name) : null }
  await api.put<unknown>(pathOf(name), { workspace, raw: raw(text) })
  return { saved: true }
}

const ALERTMANAGERS = '/alertmanagers'

/** Returns the addresses of the Alertmanagers. */
export async function readAlertmanagers(workspace: string, signal?: AbortSignal): Promise<string[]> {
  return (await api.get<{ urls: string[] }>(ALERTMANAGERS, { workspace, signal })).urls
}

/** Replaces the addresses if they are still those of `base`. */
export async function saveAlertmanagers(
  workspace: string,
  urls: readonly string[],
  base: readonly string[],
): Promise<Outcome<string[]>> {
  const theirs = await readAlertmanagers(workspace)
  if (theirs.join('\n') !== base.join('\n')) return { saved: false, theirs }
  await api.put<unknown>(ALERTMANAGERS, { workspace, body: { urls } })
  return { saved: true }
}
