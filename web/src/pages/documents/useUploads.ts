// The upload of files: a few at a time, each in its own request, because one bad file refuses all others of a request.

import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'

import { sleep } from '@/api/sleep'
import { retry, retryDelay } from '@/app/queries'
import { useWorkspace } from '@/app/workspace'

import { documentsKey, usePutClient } from './data'
import { documentOf, isSendable, MAX_FILES, reasonOf, uploadOf, type State, type Upload } from './queue'
import { readContent } from './read'

/** The number of files that are sent at the same time. */
const PARALLEL = 3

export interface Uploads {
  list: readonly Upload[]
  tags: readonly string[]
  setTags: (tags: readonly string[]) => void
  /** The time of a file's last change becomes the timestamp of its document. */
  fileTimes: boolean
  setFileTimes: (on: boolean) => void
  /** The number of files that were not added, because there were too many. */
  omitted: number
  running: boolean
  add: (files: readonly File[]) => void
  edit: (key: number, change: Partial<Pick<Upload, 'externalId' | 'title'>>) => void
  remove: (key: number) => void
  /** Sends the files that were not sent yet. */
  start: () => void
  /** Sends no further files. Requests that are running are completed. */
  stop: () => void
  clear: () => void
}

/** Returns the uploads of the page. They stop when the page is left. */
export function useUploads(): Uploads {
  const [list, setList] = useState<readonly Upload[]>([])
  const [tags, setTags] = useState<readonly string[]>([])
  const [fileTimes, setFileTimes] = useState(false)
  const [omitted, setOmitted] = useState(0)
  const [running, setRunning] = useState(false)
  const nextKey = useRef(1)
  const stopping = useRef<AbortController | null>(null)
  const { find, put } = usePutClient()
  const client = useQueryClient()
  const workspace = useWorkspace().id
  useEffect(() => () => stopping.current?.abort(), [])

  const update = (key: number, change: Partial<Upload>) =>
    setList((before) => before.map((item) => (item.key === key ? { ...item, ...change } : item)))
  const report = (key: number, state: State) => update(key, { state })

  /** Repeats a request while the server or an engine is unavailable. */
  const retried = async <T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> => {
    for (let failures = 0; ; failures++) {
      try {
        return await request()
      } catch (error) {
        if (signal.aborted || !retry(failures, error)) throw error
        await sleep(retryDelay(failures, error), signal)
      }
    }
  }

  const send = async (upload: Upload, signal: AbortSignal) => {
    report(upload.key, { at: 'reading' })
    try {
      const content = await readContent(upload.file)
      report(upload.key, { at: 'sending' })
      const existing = await retried(signal, () => find(upload.externalId))
      const document = documentOf(upload, content, { tags, fileTimes }, existing)
      report(upload.key, { at: 'done', result: await retried(signal, () => put(document)) })
    } catch (error) {
      report(upload.key, { at: 'failed', reason: reasonOf(error) })
    }
  }

  const run = async (queue: Upload[]) => {
    const { signal } = (stopping.current = new AbortController())
    setRunning(true)
    for (const { key } of queue) report(key, { at: 'waiting' })
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        if (signal.aborted) report(next.key, { at: 'ready' })
        else await send(next, signal)
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
    setRunning(false)
    await client.invalidateQueries({ queryKey: documentsKey(workspace) })
  }

  return {
    list,
    tags,
    setTags,
    fileTimes,
    setFileTimes,
    omitted,
    running,
    add: (files) => {
      const added = files.slice(0, MAX_FILES - list.length)
      setOmitted(files.length - added.length)
      setList([...list, ...added.map((file) => uploadOf(nextKey.current++, file))])
    },
    edit: update,
    remove: (key) => setList(list.filter((item) => item.key !== key)),
    start: () => void run(list.filter((item) => isSendable(item, list))),
    stop: () => stopping.current?.abort(),
    clear: () => {
      setList([])
      setOmitted(0)
    },
  }
}
