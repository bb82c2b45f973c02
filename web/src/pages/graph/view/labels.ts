// Selects the visible labels: as many as fit without overlap, the most important ones first. The whole graph shows the
// names of its hubs, and zooming in shows more.

export interface Label {
  /** The index of the node. */
  index: number
  /** The centre and size of the box on the screen. */
  x: number
  y: number
  width: number
  height: number
  /** The priority. Infinity: the label is always shown. */
  weight: number
}

/** The cell size in pixels of the grid that finds overlaps: about the height of a label. */
const CELL = 24

export type Box = Pick<Label, 'x' | 'y' | 'width' | 'height'>

/** Selects at most `maxLabels` labels that overlap neither each other nor an obstacle. */
export function chooseLabels<L extends Label>(
  candidates: readonly L[],
  maxLabels: number,
  obstacles: readonly Box[] = [],
): L[] {
  const ordered = [...candidates].sort((a, b) => b.weight - a.weight || a.index - b.index)
  const cells = new Map<number, Box[]>()
  for (const box of obstacles) occupy(cells, box, cellsOf(box))
  const chosen: L[] = []
  for (const label of ordered) {
    const must = label.weight === Infinity
    if (chosen.length >= maxLabels && !must) break
    const keys = cellsOf(label)
    if (!must && keys.some((key) => cells.get(key)?.some((other) => overlap(label, other)))) continue
    chosen.push(label)
    occupy(cells, label, keys)
  }
  return chosen
}

function occupy(cells: Map<number, Box[]>, box: Box, keys: readonly number[]): void {
  for (const key of keys) {
    const there = cells.get(key)
    if (there) there.push(box)
    else cells.set(key, [box])
  }
}

function cellsOf(label: Box): number[] {
  const keys: number[] = []
  const [left, right] = [label.x - label.width / 2, label.x + label.width / 2]
  const [top, bottom] = [label.y - label.height / 2, label.y + label.height / 2]
  for (let row = Math.floor(top / CELL); row <= Math.floor(bottom / CELL); row++) {
    for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column++) {
      keys.push(row * 65_536 + column)
    }
  }
  return keys
}

function overlap(a: Box, b: Box): boolean {
  return Math.abs(a.x - b.x) * 2 < a.width + b.width && Math.abs(a.y - b.y) * 2 < a.height + b.height
}

/** Shortens a name for a label. It is cut between grapheme clusters. */
export function shorten(name: string, maxLength: number): string {
  if (name.length <= maxLength) return name
  const characters = [...segments(name, maxLength)]
  return characters.length < maxLength ? name : characters.slice(0, maxLength - 1).join('') + '…'
}

const SEGMENTER = new Intl.Segmenter()

function* segments(text: string, maxCount: number): Generator<string> {
  let n = 0
  for (const { segment } of SEGMENTER.segment(text)) {
    yield segment
    if (++n >= maxCount) return
  }
}
