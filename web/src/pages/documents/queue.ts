// The files of an upload: their state, and what changes it. All functions are pure.

import { ApiError } from '@/api'
import { explain } from '@/ui/ErrorNotice'
import { visible } from '@/ui/format'

import { fileProblem, kindOf } from './kinds'
import type { DocumentItem, NewDocument, PutResult } from './types'

/** The maximum number of files of an upload. */
export const MAX_FILES = 200
/** The limit of the API for external ids and titles, in code points. */
const MAX_LENGTH = 512

export type State =
  | { at: 'ready' }
  /** The upload runs, and the file is not sent yet. */
  | { at: 'waiting' }
  | { at: 'reading' }
  | { at: 'sending' }
  | { at: 'done'; result: PutResult }
  | { at: 'failed'; reason: string }

export interface Upload {
  /** Identifies the file in the list. */
  key: number
  file: File
  externalId: string
  /** Empty: the title in the content, or else the external id. */
  title: string
  state: State
}

/**
 * Returns a file of the list. Its external id is its path below the chosen folder, or else its name. Id and title are
 * those of `livegraph documents import`, so that a file that was imported is unchanged.
 */
export function uploadOf(key: number, file: File): Upload {
  const below = file.webkitRelativePath.split('/').slice(1).join('/')
  const isPlain = kindOf(file.name)?.media === 'text/plain' // has no title in its content
  return {
    key,
    file,
    externalId: below || file.name,
    title: isPlain ? file.name.slice(0, file.name.lastIndexOf('.')) : '',
    state: { at: 'ready' },
  }
}

/** Returns the files of a chosen folder that can be documents: of a known type, and not hidden. */
export const readable = (files: readonly File[]) =>
  files.filter((file) => kindOf(file.name) && !/(^|\/)\./.test(file.webkitRelativePath))

export interface Problems {
  file?: string
  externalId?: string
  title?: string
}

/** Returns what must be corrected before a file is sent. Others are the files of the same upload. */
export function problemsOf(upload: Upload, others: readonly Upload[]): Problems {
  const problems: Problems = {}
  const file = fileProblem(upload.file.name, upload.file.size)
  if (file) problems.file = file
  const { externalId, title } = upload
  const twin = others.find((item) => item.key !== upload.key && item.externalId === externalId)
  if (externalId === '') problems.externalId = 'Enter an external id.'
  else if ([...externalId].length > MAX_LENGTH) problems.externalId = `At most ${MAX_LENGTH} characters.`
  else if (hasControl(externalId)) problems.externalId = 'It contains an invisible control character.'
  else if (twin) problems.externalId = 'Another file of this upload has the same external id.'
  if ([...title].length > MAX_LENGTH) problems.title = `At most ${MAX_LENGTH} characters.`
  return problems
}

const hasControl = (text: string) => /\p{Cc}/u.test(text)

/** Reports whether a file can be sent. */
export function isSendable(upload: Upload, others: readonly Upload[]): boolean {
  const { at } = upload.state
  return (at === 'ready' || at === 'failed') && Object.keys(problemsOf(upload, others)).length === 0
}

/** Reports whether a file is being sent, or about to be. */
export const isBusy = ({ state }: Upload) =>
  state.at === 'waiting' || state.at === 'reading' || state.at === 'sending'

export type Content = { text: string } | { data: string }

export interface Settings {
  /** Empty: an existing document keeps its tags. */
  tags: readonly string[]
  /** The time of a file's last change becomes the timestamp; otherwise an existing document keeps its timestamp. */
  fileTimes: boolean
}

/** Returns the document of a file. A request replaces all fields, so those of an existing document are repeated. */
export function documentOf(
  upload: Pick<Upload, 'externalId' | 'title' | 'file'>,
  content: Content,
  settings: Settings,
  existing?: Pick<DocumentItem, 'tags' | 'timestamp' | 'sourceUrl'>,
): NewDocument {
  const document: NewDocument = {
    externalId: upload.externalId,
    contentType: kindOf(upload.file.name)?.media ?? 'text/plain',
    ...content,
  }
  if (upload.title.trim() !== '') document.title = upload.title
  const tags = settings.tags.length > 0 ? settings.tags : (existing?.tags ?? [])
  if (tags.length > 0) document.tags = [...tags]
  const time = settings.fileTimes ? new Date(upload.file.lastModified).toISOString() : existing?.timestamp
  if (time) document.timestamp = time
  if (existing?.sourceUrl) document.sourceUrl = existing.sourceUrl
  return document
}

const SUBJECTS: Readonly<Record<string, string>> = {
  data: 'The file',
  text: 'The text',
  externalId: 'The external id',
  title: 'The title',
  tags: 'The tags',
  timestamp: 'The timestamp',
}

/** Returns in one sentence why the server did not accept a file, and what to do. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiError) {
    const { field, reason } = error.details
    const member = /^documents\[0\]\.(\w+)/.exec(field ?? '')?.[1]
    const subject = member === undefined ? 'The document' : SUBJECTS[member]
    if (field?.startsWith('documents[0]') && subject && reason) return sentence(`${subject} ${reason}`)
  } else if (error instanceof Error && error.name === 'NotReadableError') {
    return 'The browser cannot read the file. It may have been changed, moved or deleted.'
  } else if (error instanceof UnreadableError) return error.message
  const { title, advice } = explain(error)
  return [sentence(title), advice].filter(Boolean).join(' ')
}

const sentence = (text: string) => visible(text.replace(/[.\s]*$/, '.'), 400)

/** The error of a file that was not sent. Its message is for users. */
export class UnreadableError extends Error {}

/** The numbers of files by what became of them. */
export function countsOf(uploads: readonly Upload[]) {
  const counts = { created: 0, updated: 0, unchanged: 0, failed: 0, left: 0 }
  for (const { state } of uploads) {
    if (state.at === 'done') counts[state.result.status]++
    else if (state.at === 'failed') counts.failed++
    else if (state.at !== 'ready') counts.left++
  }
  return counts
}

/** Returns the counts as a text: "2 created, 1 unchanged, 1 failed"; empty if no file was sent. */
export function countsText(uploads: readonly Upload[]): string {
  const counts = countsOf(uploads)
  return (['created', 'updated', 'unchanged', 'failed'] as const)
    .filter((what) => counts[what] > 0)
    .map((what) => `${counts[what]} ${what}`)
    .join(', ')
}
