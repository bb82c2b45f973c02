// Commands of the palette beyond the pages. A page adds its own commands while it is mounted.

import { createContext, useContext, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'

export interface Command {
  /** Unique among the registered commands. */
  id: string
  name: string
  /** The heading of its group. */
  group: string
  /** Further search terms. */
  keywords?: string
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

/** Adds commands to the palette while the component is mounted. They are compared by id and name. */
export function useCommands(commands: readonly Command[]): void {
  const { add, remove } = useRegistry()
  const latest = useRef(commands)
  useEffect(() => {
    latest.current = commands
  })
  const actions = useRef({ add, remove })
  const key = JSON.stringify(commands.map((c) => [c.id, c.name, c.group, c.keywords]))
  useEffect(() => {
    const owner = Symbol('commands')
    const { add: addCommands, remove: removeCommands } = actions.current
    addCommands(
      owner,
      latest.current.map((c) => ({
        ...c,
        run: () => latest.current.find((item) => item.id === c.id)?.run(),
      })),
    )
    return () => removeCommands(owner)
  }, [key])
}

/**
 * Returns the commands that match a text, best match first: each word must be a prefix of a word of the name, or occur
 * in it. Pure.
 */
export function findCommands(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const scored = commands.map((command, i) => ({ command, i, score: scoreOf(command, words) }))
  return scored
    .filter((item) => item.score > 0)
    .sort((a, b) => b.score - a.score || a.i - b.i)
    .map((item) => item.command)
}

function scoreOf(command: Command, words: readonly string[]): number {
  const name = command.name.toLowerCase()
  const keywords = `${command.keywords ?? ''} ${command.group}`.toLowerCase()
  let score = 1
  for (const word of words) {
    if (name.startsWith(word)) score += 8
    else if (name.includes(` ${word}`)) score += 5
    else if (name.includes(word)) score += 3
    else if (keywords.includes(word)) score += 1
    else return 0
  }
  return score
}
