// The kinds of files that become documents, with the limits of the API.

import { bytes } from '@/ui/format'

const MAX_TEXT_BYTES = 4 << 20
const MAX_DATA_BYTES = 16 << 20

export interface Kind {
  /** The media type of the API. */
  media: string
  /** What a user calls it. */
  label: string
  /** The content is sent as text; otherwise as a file in base64. */
  text: boolean
  extensions: readonly string[]
  /** What its pages are called. */
  page: string
}

const WORD = 'application/vnd.openxmlformats-officedocument.'
const OPEN = 'application/vnd.oasis.opendocument.'

export const KINDS: readonly Kind[] = [
  { media: 'text/plain', label: 'Text', text: true, extensions: ['txt', 'text'], page: 'Page' },
  { media: 'text/markdown', label: 'Markdown', text: true, extensions: ['md', 'markdown'], page: 'Page' },
  { media: 'text/html', label: 'HTML', text: true, extensions: ['html', 'htm'], page: 'Page' },
  { media: 'application/pdf', label: 'PDF', text: false, extensions: ['pdf'], page: 'Page' },
  {
    media: `${WORD}wordprocessingml.document`,
    label: 'Word',
    text: false,
    extensions: ['docx'],
    page: 'Page',
  },
  {
    media: `${WORD}presentationml.presentation`,
    label: 'PowerPoint',
    text: false,
    extensions: ['pptx'],
    page: 'Slide',
  },
  { media: `${WORD}spreadsheetml.sheet`, label: 'Excel', text: false, extensions: ['xlsx'], page: 'Sheet' },
  { media: `${OPEN}text`, label: 'OpenDocument text', text: false, extensions: ['odt'], page: 'Page' },
  {
    media: `${OPEN}presentation`,
    label: 'OpenDocument slides',
    text: false,
    extensions: ['odp'],
    page: 'Slide',
  },
  {
    media: `${OPEN}spreadsheet`,
    label: 'OpenDocument sheets',
    text: false,
    extensions: ['ods'],
    page: 'Sheet',
  },
]

/** The extensions of all kinds, for the dialog of the browser that chooses files. */
export const ACCEPTED = KINDS.flatMap((kind) => kind.extensions.map((extension) => `.${extension}`)).join(',')

/** What is accepted, for users. */
export const ACCEPTED_TEXT = `Text, Markdown and HTML up to ${bytes(MAX_TEXT_BYTES)}. PDF, Word, PowerPoint, Excel and OpenDocument files up to ${bytes(MAX_DATA_BYTES)}.`

function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1).toLowerCase()
}

/** Returns the kind of a file by its extension; null if it is not read. */
export function kindOf(name: string): Kind | null {
  const extension = extensionOf(name)
  return KINDS.find((kind) => kind.extensions.includes(extension)) ?? null
}

/** Returns the label of a media type; an unknown one is returned unchanged. */
export const labelOf = (media: string) => KINDS.find((kind) => kind.media === media)?.label ?? media

/** Returns what a page of a media type is called. */
export const pageWord = (media: string) => KINDS.find((kind) => kind.media === media)?.page ?? 'Page'

/** The older formats, and the format to save them as. */
const SUCCESSORS: Readonly<Record<string, string>> = {
  doc: '.docx',
  rtf: '.docx',
  xls: '.xlsx',
  ppt: '.pptx',
}

/** Returns why a file cannot become a document, before it is read; null if it may. */
export function fileProblem(name: string, size: number): string | null {
  const kind = kindOf(name)
  if (!kind) {
    const successor = SUCCESSORS[extensionOf(name)]
    return successor
      ? `This format is not read. Save the file as ${successor}.`
      : 'Files of this type are not read.'
  }
  if (size === 0) return 'The file is empty.'
  const limit = kind.text ? MAX_TEXT_BYTES : MAX_DATA_BYTES
  if (size > limit)
    return `The file is larger than ${bytes(limit)}, the maximum for ${kind.text ? 'texts' : 'files of this type'}.`
  return null
}
