// How fast topics are written and read, from looks at their offsets one after another.
import type { Topic } from './shapes'

interface Look {
  /** Milliseconds. */
  at: number
  end: number
  /** Sum of what is committed; null: nobody reads the topic, or nothing was committed yet. */
  committed: number | null
  lag: number | null
}

export interface Pace {
  /** Records a second; null: not known yet. */
  written: number | null
  read: number | null
  /** Oldest first, one a look. */
  writtenTrend: (number | null)[]
  lagTrend: (number | null)[]
  /** Seconds until the lag is gone at this pace; null: not known, or it does not shrink. */
  caughtUpIn: number | null
}

/** Looks that are remembered: three minutes of one every two seconds. */
const KEPT = 90
/** Milliseconds over which a pace is measured. */
const OVER = 10_000

/** Remembers looks at topics. A new one is made for each page that shows them. */
export class Throughput {
  private readonly looks = new Map<string, Look[]>()

  /** Takes a look. One that was taken already is left out. */
  add(topics: readonly Topic[], at: number): void {
    for (const topic of topics) {
      const list = this.looks.get(topic.topic) ?? []
      const before = list.at(-1)
      if (before && at <= before.at) continue
      const look = lookAt(topic, at)
      // The log was created again: earlier values do not apply.
      if (before && look.end < before.end) list.length = 0
      list.push(look)
      if (list.length > KEPT) list.shift()
      this.looks.set(topic.topic, list)
    }
  }

  pace(name: string): Pace {
    const list = this.looks.get(name) ?? []
    const last = list.at(-1)
    const first = list.find((look) => last && last.at - look.at <= OVER)
    const written = first && last ? rate(first, last, (look) => look.end) : null
    const read = first && last ? rate(first, last, (look) => look.committed) : null
    const shrinks = written !== null && read !== null ? read - written : 0
    return {
      written,
      read,
      writtenTrend: list.slice(1).map((look, i) => rate(list[i] ?? look, look, (one) => one.end)),
      lagTrend: list.map((look) => look.lag),
      caughtUpIn: last?.lag && shrinks > 0 ? last.lag / shrinks : null,
    }
  }
}

function lookAt(topic: Topic, at: number): Look {
  let end = 0
  let committed: number | null = topic.readers.length > 0 ? 0 : null
  topic.partitions.forEach((p, i) => {
    end += p.end
    // What one of them has not committed is not read; a group that committed nothing begins where the log does.
    const least = Math.min(...topic.readers.map((reader) => reader.partitions[i]?.committed ?? p.begin))
    if (committed !== null) committed += least
  })
  return { at, end, committed, lag: topic.lag }
}

function rate(from: Look, to: Look, of: (look: Look) => number | null): number | null {
  const [a, b] = [of(from), of(to)]
  if (a === null || b === null || to.at <= from.at) return null
  return Math.max(0, ((b - a) / (to.at - from.at)) * 1000)
}

/** The topics, each followed by that of its dead letters. */
export interface TopicPair {
  topic: Topic
  letters: Topic | null
}

const DEAD = '.dlq'

export function pairs(topics: readonly Topic[]): TopicPair[] {
  const byName = new Map(topics.map((topic) => [topic.topic, topic]))
  return topics
    .filter((topic) => !(topic.topic.endsWith(DEAD) && byName.has(topic.topic.slice(0, -DEAD.length))))
    .map((topic) => ({ topic, letters: byName.get(topic.topic + DEAD) ?? null }))
}

/** How much of what the log keeps is taken by what is not read yet, 0 to 1; null: it is not bounded. */
export function danger(topic: Topic): number | null {
  if (topic.retentionBytes < 0 || topic.records === 0 || topic.lag === null) return null
  const most = topic.retentionBytes * topic.partitions.length
  if (most === 0) return null
  return Math.min(1, (topic.lag * (topic.bytes / topic.records)) / most)
}
