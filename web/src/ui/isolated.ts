// Isolated values of a line, which no line segment connects.

/**
 * Returns the indices of isolated values: with nothing, or a gap (null), on both sides. Undefined is neither a value
 * nor a gap.
 */
export function isolatedIndices(values: ArrayLike<number | null | undefined>): number[] {
  const isolated: number[] = []
  let first = -1
  let length = 0
  const end = () => {
    if (length === 1) isolated.push(first)
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
  return isolated
}
