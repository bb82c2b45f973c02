// The range of a chart's axis.

/** Returns the range of the axis with a padding. It is never empty. Pure. */
export function yRange(min: number | null, max: number | null, fromZero: boolean): [number, number] {
  if (min == null || max == null || !Number.isFinite(min) || !Number.isFinite(max)) return [0, 1]
  if (fromZero) min = Math.min(0, min)
  if (min === max) {
    const padding = Math.abs(max) * 0.1 || 1
    return fromZero && min === 0 ? [0, 1] : [min === 0 ? 0 : min - padding, max + padding]
  }
  const air = (max - min) * 0.08
  return [min >= 0 && min - air < 0 ? 0 : fromZero && min === 0 ? 0 : min - air, max + air]
}
