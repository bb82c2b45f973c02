// Reads files in the browser.

import { kindOf } from './kinds'
import { UnreadableError, type Content } from './queue'

/** Returns the content of a file in the form in which the API accepts it. */
export async function readContent(file: File): Promise<Content> {
  if (kindOf(file.name)?.text) return { text: decode(await file.arrayBuffer()) }
  return { data: await base64(file) }
}

/** Decodes UTF-8. The byte order mark stays, so that the content is the same as that of `documents import`. */
export function decode(content: ArrayBuffer): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    throw new UnreadableError('The file is not text in UTF-8. Save it in UTF-8.')
  }
  if (text.includes('\0')) throw new UnreadableError('The file is not text: it contains zero bytes.')
  return text
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => {
      const url = reader.result as string // data:…;base64,…
      resolve(url.slice(url.indexOf(',') + 1))
    }
    reader.onerror = () => reject(reader.error ?? new Error('The file cannot be read'))
    reader.readAsDataURL(file)
  })
}
