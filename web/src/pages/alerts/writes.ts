// Writes of files of rules and of Alertmanagers. They send the entity tag of the state that they replace, so that the
// server refuses them if somebody else changed it since the dialog was opened: their change is reported and not
// overwritten.

import { api, ApiError, type Options } from '@/api'

import type { RuleFile, RuleFileText } from './data'

/** The maximum number of files of a workspace. */
export const MAX_FILES = 100

/** The maximum number of Alertmanagers of a workspace. */
export const MAX_ALERTMANAGERS = 10

const FILES = '/rules'

/** Returns the path of a file. */
export const pathOf = (name: string) => `${FILES}/${encodeURIComponent(name)}`

/** A file with its text, and the entity tag of this state. */
export type StoredFile = RuleFileText & { etag: string }

/** Returns a file with its text. */
export async function readFile(workspace: string, name: string, signal?: AbortSignal): Promise<StoredFile> {
  const { data, etag } = await api.getTagged<RuleFileText>(pathOf(name), { workspace, signal })
  return { ...data, etag }
}

/** Returns a file with its text, or null if there is none of the name. */
async function findFile(workspace: string, name: string): Promise<StoredFile | null> {
  try {
    return await readFile(workspace, name)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

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

/** The header of a PUT that replaces the state `base`, or that creates what does not exist if it is null. */
const condition = (base: { etag: string } | null) =>
  base ? { name: 'If-Match', value: base.etag } : { name: 'If-None-Match', value: '*' }

/** Sends a PUT that replaces the state `base`. It returns false if the current state is another one. */
async function replace(path: string, base: { etag: string } | null, options: Options): Promise<boolean> {
  const { name, value } = condition(base)
  try {
    await api.put<unknown>(path, { ...options, headers: { [name]: value } })
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 409 && error.details.field === name) return false
    throw error
  }
}

/**
 * Creates or replaces a file if its stored state is still that of `base`. `base` is null if there must be no file of
 * the name; `theirs` is null if there is none any more. A file that has the text already is saved: an earlier request
 * whose response was lost may have written it.
 */
export async function saveFile(
  workspace: string,
  name: string,
  text: string,
  base: Pick<StoredFile, 'etag'> | null,
): Promise<Outcome<StoredFile | null>> {
  if (await replace(pathOf(name), base, { workspace, raw: raw(text) })) return { saved: true }
  const theirs = await findFile(workspace, name)
  return theirs?.content === text ? { saved: true } : { saved: false, theirs }
}

const ALERTMANAGERS = '/alertmanagers'

/** The addresses of the Alertmanagers, and the entity tag of this list. */
export interface StoredAlertmanagers {
  urls: readonly string[]
  etag: string
}

/** Returns the addresses of the Alertmanagers. */
export async function readAlertmanagers(
  workspace: string,
  signal?: AbortSignal,
): Promise<StoredAlertmanagers> {
  const { data, etag } = await api.getTagged<{ urls: string[] }>(ALERTMANAGERS, { workspace, signal })
  return { urls: data.urls, etag }
}

/** Replaces the addresses if they are still those of `base`, or are those to save already. */
export async function saveAlertmanagers(
  workspace: string,
  urls: readonly string[],
  base: Pick<StoredAlertmanagers, 'etag'>,
): Promise<Outcome<StoredAlertmanagers>> {
  if (await replace(ALERTMANAGERS, base, { workspace, body: { urls } })) return { saved: true }
  const theirs = await readAlertmanagers(workspace)
  return theirs.urls.join('\n') === urls.join('\n') ? { saved: true } : { saved: false, theirs }
}
