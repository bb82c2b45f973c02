// Which labels are shown: as many as fit without one lying on another, the more important ones first. So a whole graph
// shows its hubs' names, and more appear as one zooms in.

export interface Label {
  /** Of the node. */
  place: number
  /** The box's middle and sizes on the screen. */
  x: number
  y: number
  width: number
  height: number
  /** Higher goes first; Infinity: in any case. */
  weight: number
}

/** Cells of the grid by which overlaps are found, in pixels: about a label's height. */
const CELL = 24

export type Box = Pick<Label, 'x' | 'y' | 'width' | 'height'>

/** Chooses labels that overlap neither each other nor what is in their way, at most so many. */
export function chooseLabels<L extends Label>(
  candidates: readonly L[],
  most: number,
  obstacles: readonly Box[] = [],
): L[] {
  const ordered = [...candidates].sort((a, b) => b.weight - a.weight || a.place - b.place)
  const cells = new Map<number, Box[]>()
  for (const box of obstacles) occupy(cells, box, cellsOf(box))
  const chosen: L[] = []
  for (const label of ordered) {
    const must = label.weight === Infinity
    if (chosen.length >= most && !must) break
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

/** A name short enough for a label. Cut between characters that people see as one. */
export function shorten(name: string, most: number): string {
  if (name.length <= most) return name
  const characters = [...segments(name, most)]
  return characters.length < most ? name : characters.slice(0, most - 1).join('') + '…'
}

const SEGMENTER = new Intl.Segmenter()

function* segments(text: string, most: number): Generator<string> {
  let n = 0
  for (const { segment } of SEGMENTER.segment(text)) {
    yield segment
    if (++n >= most) return
  }
}
