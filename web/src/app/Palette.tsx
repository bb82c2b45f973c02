import * as Radix from '@radix-ui/react-dialog'
import { Search } from 'lucide-react'
import { useId, useMemo, useState, type KeyboardEvent } from 'react'
import { useNavigate } from 'react-router'

import { cx, usePaused, visible } from '@/ui'
import { useReturningFocus } from '@/ui/focus'
import { chooseTheme } from '@/ui/scheme'

import { matching, useRegistry, type Command } from './commands'
import { PAGES } from './pages'
import { useLogout } from './session'
import { useWorkspaceChoices, useWorkspaces } from './workspace'

/** Every page and action by name: Ctrl K. */
export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const focus = useReturningFocus()
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div className="scrim palette-scrim">
          <Radix.Content {...focus} className="dialog palette" aria-describedby={undefined}>
            <Radix.Title className="sr-only">Find a page or an action</Radix.Title>
            <Finder onClose={onClose} />
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  )
}

function Finder({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const all = useAllCommands(usePaused(text))
  const [active, setActive] = useState(0)
  const id = useId()
  const found = useMemo(() => matching(all, text).slice(0, 40), [all, text])
  const at = Math.min(active, found.length - 1)
  const run = (command: Command | undefined) => {
    if (!command) return
    onClose()
    command.run()
  }
  const press = (e: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: found.length - 1 }[e.key]
    if (e.key === 'Enter') {
      e.preventDefault()
      run(found[at])
    } else if (to !== undefined && found.length > 0) {
      e.preventDefault()
      const next = (to + found.length) % found.length
      setActive(next)
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' })
    }
  }
  return (
    <>
      <div className="palette-input">
        <Search size={16} aria-hidden="true" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
          aria-label="Find a page or an action"
          placeholder="Find a page or an action"
          value={text}
          autoComplete="off"
          spellCheck={false}
          onChange={(e) => {
            setText(e.target.value)
            setActive(0)
          }}
          onKeyDown={press}
        />
        <kbd className="kbd">Esc</kbd>
      </div>
      <div className="palette-list" role="listbox" id={`${id}-list`} aria-label="Pages and actions">
        {found.map((command, i) => (
          // The input has the focus and the keys.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={command.id}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className={cx('palette-item', i === at && 'palette-active')}
            onPointerMove={() => i !== at && setActive(i)}
            onClick={() => run(command)}
          >
            <bdi className="name">{visible(command.name, 120)}</bdi>
            <span className="palette-group">{command.group}</span>
          </div>
        ))}
        {found.length === 0 && (
          <p className="palette-none muted">No matches. Try a page, a workspace or “theme”.</p>
        )}
      </div>
    </>
  )
}

/** Every command, with the workspaces that a text finds beyond those that are loaded. */
function useAllCommands(text: string): Command[] {
  const navigate = useNavigate()
  const { commands } = useRegistry()
  const { workspace, workspaces, select } = useWorkspaces()
  const { choices } = useWorkspaceChoices(text)
  const logout = useLogout()
  const offered = [...new Map([...workspaces, ...choices].map((one) => [one.id, one])).values()]
  const scope = workspace ? `?workspace=${workspace.id}` : ''
  return [
    ...commands,
    ...PAGES.map((page) => ({
      id: `page:${page.path}`,
      name: page.name,
      group: 'Pages',
      also: page.also,
      run: () => void navigate({ pathname: `/${page.path}`, search: page.scoped ? scope : '' }),
    })),
    {
      id: 'new:workspace',
      name: 'New workspace',
      group: 'Actions',
      also: 'create',
      run: () => void navigate('/workspaces?new=1'),
    },
    {
      id: 'new:key',
      name: 'New key',
      group: 'Actions',
      also: 'create api',
      run: () => void navigate('/keys?new=1'),
    },
    ...offered.map((one) => ({
      id: `workspace:${one.id}`,
      name: one.name,
      group: 'Switch workspace',
      also: one.id,
      run: () => select(one.id),
    })),
    { id: 'theme:light', name: 'Light theme', group: 'Theme', run: () => chooseTheme('light') },
    { id: 'theme:dark', name: 'Dark theme', group: 'Theme', run: () => chooseTheme('dark') },
    { id: 'theme:system', name: 'System theme', group: 'Theme', run: () => chooseTheme('system') },
    {
      id: 'docs',
      name: 'API documentation',
      group: 'Help',
      also: 'api openapi reference',
      run: () => void window.open('/api/docs', '_blank', 'noopener'),
    },
    { id: 'logout', name: 'Log out', group: 'Session', also: 'sign out', run: () => logout.mutate() },
  ]
}
