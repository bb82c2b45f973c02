// Values of a line that would not be seen, because no line leads to or from them.

/** Returns the indices of isolated values: with nothing, or a gap (null), on both sides. Undefined is neither a value nor a gap. */
export function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const alone: number[] = []
  let first = -1
  let length = 0
  const end = () => {
    if (length === 1) alone.push(first)
    length = 0
  }
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === undefined) continue
    if (value === null) {
      end()
      continue
    }
    if (length === 0) first = i
    length++
  }
  end()
  return alone
}
