/** Of react-query, for who changes operators: invalidate it. */
export const OPERATORS = ['operators'] as const
