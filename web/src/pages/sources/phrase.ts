import { visible } from '@/ui/format'

import type { Source } from './shapes'

/** Returns the text to type before data of a source is deleted: its name if it can be typed, otherwise its id. */
export function phraseOf(source: Source): string {
  return visible(source.name, 120) === source.name && source.name.length <= 60 ? source.name : source.id
}
