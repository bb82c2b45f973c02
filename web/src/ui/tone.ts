/** The colours of badges, figures and lines, by meaning. */
export type Tone = 'neutral' | 'ok' | 'warn' | 'bad' | 'accent'
