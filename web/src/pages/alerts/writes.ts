// Writes of files of rules and of Alertmanagers. They send the entity tag of the state that they replace, so that the
// server refuses them if somebody else changed it since the dialog was opened: their change is reported and not
// overwritten.

import { api, ApiError, type ApiSchemas, type Options } from '@/api'

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

/** An Alertmanager without its secrets, which are stored if it has an authorization or headers. */
export type Alertmanager = ApiSchemas['Alertmanager']

/** The Alertmanagers, and the entity tag of this list. */
export interface StoredAlertmanagers {
  alertmanagers: readonly Alertmanager[]
  etag: string
}

/** An Alertmanager as it is edited. A secret that is empty stays as it is stored for the same URL. */
export interface Draft {
  url: string
  type: '' | 'basic' | 'bearer'
  username: string
  secret: string
  headers: readonly { name: string; value: string }[]
}

/** An Alertmanager without anything. */
export const EMPTY: Draft = { url: '', type: '', username: '', secret: '', headers: [] }

/** Returns what is edited of a stored Alertmanager. */
export const draftOf = ({ url, authorization, headers }: Alertmanager): Draft => ({
  url,
  type: authorization?.type ?? '',
  username: authorization?.username ?? '',
  secret: '',
  headers: headers.map(({ name }) => ({ name, value: '' })),
})

/** Returns the body of a request. */
function bodyOf({ url, type, username, secret, headers }: Draft) {
  const given = secret || undefined
  return {
    url,
    authorization:
      type === 'basic'
        ? { type, username, password: given }
        : type === 'bearer'
          ? { type, token: given }
          : undefined,
    headers: headers.map(({ name, value }) => ({ name, value: value || undefined })),
  }
}

/** Returns the Alertmanagers. */
export async function readAlertmanagers(
  workspace: string,
  signal?: AbortSignal,
): Promise<StoredAlertmanagers> {
  const { data, etag } = await api.getTagged<{ alertmanagers: Alertmanager[] }>(ALERTMANAGERS, {
    workspace,
    signal,
  })
  return { alertmanagers: data.alertmanagers, etag }
}

/**
 * Replaces the Alertmanagers if they are still those of `base`, or are those to save already. The latter is not known
 * of secrets.
 */
export async function saveAlertmanagers(
  workspace: string,
  drafts: readonly Draft[],
  base: Pick<StoredAlertmanagers, 'etag'>,
): Promise<Outcome<StoredAlertmanagers>> {
  const body = { alertmanagers: drafts.map(bodyOf) }
  if (await replace(ALERTMANAGERS, base, { workspace, body })) return { saved: true }
  const theirs = await readAlertmanagers(workspace)
  return keyOf(theirs.alertmanagers.map(draftOf)) === keyOf(drafts)
    ? { saved: true }
    : { saved: false, theirs }
}

const keyOf = (drafts: readonly Draft[]) =>
  JSON.stringify(drafts.map((draft) => JSON.stringify(bodyOf(draft))).sort())
