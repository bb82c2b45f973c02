/** The query key. Invalidate it after a change of operators. */
export const OPERATORS = ['operators'] as const
