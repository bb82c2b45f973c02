/** A time in microseconds since the Unix epoch, and a value. */
export type Point = [time: number, value: number]

/** Points that a slice holds before it is thinned. */
const SLICE_POINTS = 16

interface Slice {
  number: number
  /** In no order, with each time once. */
  points: Point[]
}

/** The points of so many slices of time, each in its place: a later slice takes the place of the one a round before. */
export class Ring {
  private readonly places: (Slice | undefined)[]

  constructor(size: number) {
    this.places = new Array<Slice | undefined>(size).fill(undefined)
  }

  /** Puts a point into a slice. One of a round before goes, and what is of a round before is not taken. */
  put(number: number, point: Point): void {
    const at = ((number % this.places.length) + this.places.length) % this.places.length
    const there = this.places[at]
    if (there && there.number > number) return
    if (there?.number !== number) {
      this.places[at] = { number, points: [point] }
      return
    }
    const same = there.points.find((one) => one[0] === point[0])
    if (same) same[1] = point[1]
    else there.points.push(point)
    if (there.points.length > SLICE_POINTS) there.points = thinned(there.points)
  }

  /** Forgets all slices but those of a range, its ends included. */
  keep(oldest: number, newest: number): void {
    this.places.forEach((slice, at) => {
      if (slice && (slice.number < oldest || slice.number > newest)) this.places[at] = undefined
    })
  }

  /** Forgets points. */
  remove(gone: (point: Point) => boolean): void {
    this.places.forEach((slice, at) => {
      if (!slice) return
      slice.points = slice.points.filter((point) => !gone(point))
      if (slice.points.length === 0) this.places[at] = undefined
    })
  }

  /** The points in the order of time. */
  sorted(): Point[] {
    return this.places
      .filter((slice) => slice !== undefined)
      .sort((a, b) => a.number - b.number)
      .flatMap((slice) => slice.points.toSorted((a, b) => a[0] - b[0]))
  }
}

/** The first, the lowest, the highest and the last of points. */
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
