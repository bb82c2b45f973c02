// Computes the write and read rates of topics from consecutive samples of their offsets.
import type { Topic } from './shapes'

interface Sample {
  /** In milliseconds. */
  time: number
  end: number
  /** The sum of committed offsets; null if the topic has no consumer. */
  committed: number | null
  lag: number | null
}

export interface Rates {
  /** Records per second; null if unknown. */
  written: number | null
  read: number | null
  /** Oldest first, one value per sample. */
  writtenTrend: (number | null)[]
  lagTrend: (number | null)[]
  /** Seconds until the lag is gone at this rate; null if unknown or if the lag does not decrease. */
  caughtUpIn: number | null
}

/** The maximum number of samples: three minutes at one every two seconds. */
const MAX_SAMPLES = 90
/** The window of a rate in milliseconds. */
const RATE_WINDOW_MS = 10_000

/** Stores samples of topics. Each page that shows rates creates its own. */
export class Throughput {
  private readonly samples = new Map<string, Sample[]>()

  /** Adds a sample. A sample that is not newer than the last one is ignored. */
  add(topics: readonly Topic[], time: number): void {
    for (const topic of topics) {
      const list = this.samples.get(topic.topic) ?? []
      const previous = list.at(-1)
      if (previous && time <= previous.time) continue
      const sample = sampleOf(topic, time)
      // The log was created again: earlier samples do not apply.
      if (previous && sample.end < previous.end) list.length = 0
      list.push(sample)
      if (list.length > MAX_SAMPLES) list.shift()
      this.samples.set(topic.topic, list)
    }
  }

  rates(name: string): Rates {
    const list = this.samples.get(name) ?? []
    const last = list.at(-1)
    const first = list.find((sample) => last && last.time - sample.time <= RATE_WINDOW_MS)
    const written = first && last ? rate(first, last, (sample) => sample.end) : null
    const read = first && last ? rate(first, last, (sample) => sample.committed) : null
    const decrease = written !== null && read !== null ? read - written : 0
    return {
      written,
      read,
      writtenTrend: list.slice(1).map((sample, i) => rate(list[i] ?? sample, sample, (s) => s.end)),
      lagTrend: list.map((sample) => sample.lag),
      caughtUpIn: last?.lag && decrease > 0 ? last.lag / decrease : null,
    }
  }
}

function sampleOf(topic: Topic, time: number): Sample {
  let end = 0
  let committed: number | null = topic.readers.length > 0 ? 0 : null
  topic.partitions.forEach((p, i) => {
    end += p.end
    // A record counts as read when all consumers have committed it. A group without a commit starts at the beginning of
    // the log.
    const minCommitted = Math.min(
      ...topic.readers.map((reader) => reader.partitions[i]?.committed ?? p.begin),
    )
    if (committed !== null) committed += minCommitted
  })
  return { time, end, committed, lag: topic.lag }
}

function rate(from: Sample, to: Sample, valueOf: (sample: Sample) => number | null): number | null {
  const [a, b] = [valueOf(from), valueOf(to)]
  if (a === null || b === null || to.time <= from.time) return null
  return Math.max(0, ((b - a) / (to.time - from.time)) * 1000)
}

/** A topic and the topic of its dead letters. */
export interface TopicPair {
  topic: Topic
  deadLetters: Topic | null
}

const DLQ_SUFFIX = '.dlq'

export function topicPairs(topics: readonly Topic[]): TopicPair[] {
  const byName = new Map(topics.map((topic) => [topic.topic, topic]))
  return topics
    .filter(
      (topic) => !(topic.topic.endsWith(DLQ_SUFFIX) && byName.has(topic.topic.slice(0, -DLQ_SUFFIX.length))),
    )
    .map((topic) => ({ topic, deadLetters: byName.get(topic.topic + DLQ_SUFFIX) ?? null }))
}

/** Returns the share of the retained log that unread records take, 0 to 1; null if the log is not bounded. */
export function unreadShare(topic: Topic): number | null {
  if (topic.retentionBytes < 0 || topic.records === 0 || topic.lag === null) return null
  const capacity = topic.retentionBytes * topic.partitions.length
  if (capacity === 0) return null
  return Math.min(1, (topic.lag * (topic.bytes / topic.records)) / capacity)
}
