// What the palette can do beyond going to pages: a page adds its own for as long as it is shown.

import { createContext, useContext, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'

export interface Command {
  /** Unique among those that are shown. */
  id: string
  name: string
  /** The heading of its group. */
  group: string
  /** Words by which it is found, too. */
  also?: string
  run: () => void
}

interface Registry {
  commands: Command[]
  add: (owner: symbol, commands: readonly Command[]) => void
  remove: (owner: symbol) => void
}

const Context = createContext<Registry | null>(null)

export function CommandProvider({ children }: { children: ReactNode }) {
  const [all, setAll] = useState<ReadonlyMap<symbol, readonly Command[]>>(new Map())
  const registry = useMemo<Registry>(
    () => ({
      commands: [...all.values()].flat(),
      add: (owner, commands) => setAll((before) => new Map(before).set(owner, commands)),
      remove: (owner) =>
        setAll((before) => {
          const after = new Map(before)
          after.delete(owner)
          return after
        }),
    }),
    [all],
  )
  return <Context value={registry}>{children}</Context>
}

export function useRegistry(): Registry {
  const registry = useContext(Context)
  if (!registry) throw new Error('useRegistry outside of CommandProvider')
  return registry
}

/** Adds commands to the palette while the component is shown. They are compared by id and name. */
export function useCommands(commands: readonly Command[]): void {
  const { add, remove } = useRegistry()
  const latest = useRef(commands)
  useEffect(() => {
    latest.current = commands
  })
  const actions = useRef({ add, remove })
  const key = JSON.stringify(commands.map((c) => [c.id, c.name, c.group, c.also]))
  useEffect(() => {
    const owner = Symbol('commands')
    const { add: put, remove: take } = actions.current
    put(
      owner,
      latest.current.map((c) => ({ ...c, run: () => latest.current.find((one) => one.id === c.id)?.run() })),
    )
    return () => take(owner)
  }, [key])
}

/** The commands that a text finds, the best first: every word is a prefix of a word of the name, or occurs in it. Pure. */
export function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const scored = commands.map((command, i) => ({ command, i, score: scoreOf(command, words) }))
  return scored
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score || a.i - b.i)
    .map((one) => one.command)
}

function scoreOf(command: Command, words: readonly string[]): number {
  const name = command.name.toLowerCase()
  const also = `${command.also ?? ''} ${command.group}`.toLowerCase()
  let score = 1
  for (const word of words) {
    if (name.startsWith(word)) score += 8
    else if (name.includes(` ${word}`)) score += 5
    else if (name.includes(word)) score += 3
    else if (also.includes(word)) score += 1
    else return 0
  }
  return score
}
