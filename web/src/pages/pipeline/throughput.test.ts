import { describe, expect, it } from 'vitest'
import type { Reader, Topic } from './shapes'
import { unreadShare, topicPairs, Throughput } from './throughput'

const readerOf = (group: string, end: number, committed: number | null): Reader => {
  const lag = end - (committed ?? 0)
  return { group, lag, partitions: [{ partition: 0, committed, lag }] }
}

function topic(change: Partial<Topic>, end = 0, committed: number | null = end): Topic {
  return {
    topic: 'points',
    name: 'lg.points',
    retentionBytes: 1000,
    bytes: 0,
    records: end,
    lag: end - (committed ?? 0),
    readers: [readerOf('points', end, committed)],
    partitions: [{ partition: 0, begin: 0, end, bytes: 0 }],
    deadLetters: null,
    ...change,
  }
}

describe('the throughput of a topic', () => {
  it('is known from the second sample on', () => {
    const t = new Throughput()
    expect(t.rates('points').written).toBeNull()
    t.add([topic({}, 100)], 1000)
    expect(t.rates('points')).toMatchObject({ written: null, read: null })
    t.add([topic({}, 300, 200)], 3000)
    expect(t.rates('points')).toMatchObject({
      written: 100,
      read: 50,
      writtenTrend: [100],
      lagTrend: [0, 100],
    })
  })

  it('is measured over the last ten seconds', () => {
    const t = new Throughput()
    for (let s = 0; s <= 60; s += 2) t.add([topic({}, s < 40 ? s * 100 : 4000 + (s - 40) * 10)], s * 1000)
    expect(t.rates('points').written).toBe(10)
  })

  it('includes the time to catch up if the lag shrinks', () => {
    const t = new Throughput()
    t.add([topic({}, 1000, 0)], 0)
    t.add([topic({}, 1100, 300)], 1000)
    expect(t.rates('points').caughtUpIn).toBe(4)
    t.add([topic({}, 9000, 300)], 2000)
    expect(t.rates('points').caughtUpIn).toBeNull()
  })

  it('is reset for a new log and is never negative', () => {
    const t = new Throughput()
    t.add([topic({}, 1000)], 0)
    t.add([topic({}, 5)], 1000)
    expect(t.rates('points').written).toBeNull()
    t.add([topic({}, 15)], 2000)
    expect(t.rates('points').written).toBe(10)
  })

  it('ignores duplicate samples and keeps a bounded number of samples', () => {
    const t = new Throughput()
    for (let i = 0; i < 1000; i++) {
      t.add([topic({}, i)], i * 1000)
      t.add([topic({}, i)], i * 1000)
    }
    expect(t.rates('points').lagTrend).toHaveLength(90)
  })

  it('is that of the slower of two consumer groups', () => {
    const t = new Throughput()
    for (let i = 0; i < 5; i++) {
      const readers = [readerOf('quick', 100 * i, 100 * i), readerOf('slow', 100 * i, 10 * i)]
      t.add([topic({ readers, lag: 90 * i }, 100 * i)], i * 1000)
    }
    expect(t.rates('points')).toMatchObject({ written: 100, read: 10, caughtUpIn: null })
  })

  it('has no read rate without consumer groups', () => {
    const t = new Throughput()
    const quiet = (end: number) => topic({ readers: [], lag: null }, end, null)
    t.add([quiet(0)], 0)
    t.add([quiet(10)], 1000)
    expect(t.rates('points')).toMatchObject({ written: 10, read: null, caughtUpIn: null })
  })
})

describe('topics', () => {
  it('are listed with their dead letter topics', () => {
    const list = [
      topic({}),
      topic({ topic: 'points.dlq' }),
      topic({ topic: 'audit' }),
      topic({ topic: 'other.dlq' }),
    ]
    expect(topicPairs(list).map((p) => [p.topic.topic, p.deadLetters?.topic])).toEqual([
      ['points', 'points.dlq'],
      ['audit', undefined],
      ['other.dlq', undefined],
    ])
  })

  it('report the unread share of the retained bytes', () => {
    expect(unreadShare(topic({ bytes: 1000, lag: 80 }, 100))).toBe(0.8)
    expect(unreadShare(topic({ bytes: 1000, lag: 80, retentionBytes: -1 }, 100))).toBeNull()
    expect(unreadShare(topic({ lag: null }, 100))).toBeNull()
    expect(unreadShare(topic({}, 0))).toBeNull()
  })
})
