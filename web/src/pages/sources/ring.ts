/** A time in microseconds since the Unix epoch, and a value. */
export type Point = [time: number, value: number]

/** The number of points of a slice before it is thinned. */
const SLICE_POINTS = 16

interface Slice {
  number: number
  /** Unordered, with each time once. */
  points: Point[]
}

/** A ring buffer of time slices: a newer slice replaces the one in its slot. */
export class Ring {
  private readonly slots: (Slice | undefined)[]

  constructor(size: number) {
    this.slots = new Array<Slice | undefined>(size).fill(undefined)
  }

  /** Adds a point to a slice. It replaces an older slice in the slot and is ignored if the slot has a newer one. */
  put(number: number, point: Point): void {
    const index = ((number % this.slots.length) + this.slots.length) % this.slots.length
    const current = this.slots[index]
    if (current && current.number > number) return
    if (current?.number !== number) {
      this.slots[index] = { number, points: [point] }
      return
    }
    const same = current.points.find((item) => item[0] === point[0])
    if (same) same[1] = point[1]
    else current.points.push(point)
    if (current.points.length > SLICE_POINTS) current.points = thinned(current.points)
  }

  /** Removes all slices outside a range, whose ends are included. */
  keep(oldest: number, newest: number): void {
    this.slots.forEach((slice, index) => {
      if (slice && (slice.number < oldest || slice.number > newest)) this.slots[index] = undefined
    })
  }

  /** Removes points. */
  remove(isDeleted: (point: Point) => boolean): void {
    this.slots.forEach((slice, index) => {
      if (!slice) return
      slice.points = slice.points.filter((point) => !isDeleted(point))
      if (slice.points.length === 0) this.slots[index] = undefined
    })
  }

  /** Returns the points in the order of time. */
  sorted(): Point[] {
    return this.slots
      .filter((slice) => slice !== undefined)
      .sort((a, b) => a.number - b.number)
      .flatMap((slice) => slice.points.toSorted((a, b) => a[0] - b[0]))
  }
}

/** Returns the first, lowest, highest and last point. */
function thinned(points: readonly Point[]): Point[] {
  let [first, last, low, high] = [points[0], points[0], points[0], points[0]] as [Point, Point, Point, Point]
  for (const point of points) {
    if (point[0] < first[0]) first = point
    if (point[0] > last[0]) last = point
    if (point[1] < low[1]) low = point
    if (point[1] > high[1]) high = point
  }
  return [...new Set([first, low, high, last])]
}
