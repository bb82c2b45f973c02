import { visible } from '@/ui/format'

import type { Source } from './shapes'

/** What is typed before something of a source is destroyed: its name where it can be typed, else its id. */
export function phraseOf(source: Source): string {
  return visible(source.name, 120) === source.name && source.name.length <= 60 ? source.name : source.id
}
