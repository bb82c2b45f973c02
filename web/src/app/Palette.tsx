import * as Radix from '@radix-ui/react-dialog'
import { Search } from 'lucide-react'
import { useId, useMemo, useState, type KeyboardEvent } from 'react'
import { useNavigate } from 'react-router'

import { cx, useDebounced, visible } from '@/ui'
import { useReturningFocus } from '@/ui/focus'
import { chooseTheme } from '@/ui/scheme'

import { findCommands, useRegistry, type Command } from './commands'
import { PAGES } from './pages'
import { useLogout } from './session'
import { useWorkspaceChoices, useWorkspaces } from './workspace'

/** The command palette (Ctrl K): all pages and actions by name. */
export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const focus = useReturningFocus()
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div className="scrim palette-scrim">
          <Radix.Content {...focus} className="dialog palette" aria-describedby={undefined}>
            <Radix.Title className="sr-only">Find a page or an action</Radix.Title>
            <CommandSearch onClose={onClose} />
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  )
}

function CommandSearch({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const all = useAllCommands(useDebounced(text))
  const [active, setActive] = useState(0)
  const id = useId()
  const found = useMemo(() => findCommands(all, text).slice(0, 40), [all, text])
  const activeIndex = Math.min(active, found.length - 1)
  const run = (command: Command | undefined) => {
    if (!command) return
    onClose()
    command.run()
  }
  const onKeyDown = (e: KeyboardEvent) => {
    const target = { ArrowDown: activeIndex + 1, ArrowUp: activeIndex - 1, Home: 0, End: found.length - 1 }[
      e.key
    ]
    if (e.key === 'Enter') {
      e.preventDefault()
      run(found[activeIndex])
    } else if (target !== undefined && found.length > 0) {
      e.preventDefault()
      const next = (target + found.length) % found.length
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
          aria-activedescendant={found.length > 0 ? `${id}-${activeIndex}` : undefined}
          aria-label="Find a page or an action"
          placeholder="Find a page or an action"
          value={text}
          autoComplete="off"
          spellCheck={false}
          onChange={(e) => {
            setText(e.target.value)
            setActive(0)
          }}
          onKeyDown={onKeyDown}
        />
        <kbd className="kbd">Esc</kbd>
      </div>
      <div className="palette-list" role="listbox" id={`${id}-list`} aria-label="Pages and actions">
        {found.map((command, i) => (
          // The input has the focus and handles the keys.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={command.id}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === activeIndex}
            className={cx('palette-item', i === activeIndex && 'palette-active')}
            onPointerMove={() => i !== activeIndex && setActive(i)}
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

/** Returns all commands, with the workspaces that match the text beyond those that are loaded. */
function useAllCommands(text: string): Command[] {
  const navigate = useNavigate()
  const { commands } = useRegistry()
  const { workspace, workspaces, select } = useWorkspaces()
  const { choices } = useWorkspaceChoices(text)
  const logout = useLogout()
  const listed = [...new Map([...workspaces, ...choices].map((item) => [item.id, item])).values()]
  const scope = workspace ? `?workspace=${workspace.id}` : ''
  return [
    ...commands,
    ...PAGES.map((page) => ({
      id: `page:${page.path}`,
      name: page.name,
      group: 'Pages',
      keywords: page.keywords,
      run: () => void navigate({ pathname: `/${page.path}`, search: page.scoped ? scope : '' }),
    })),
    {
      id: 'new:workspace',
      name: 'New workspace',
      group: 'Actions',
      keywords: 'create',
      run: () => void navigate('/workspaces?new=1'),
    },
    {
      id: 'new:key',
      name: 'New key',
      group: 'Actions',
      keywords: 'create api',
      run: () => void navigate('/keys?new=1'),
    },
    {
      id: 'new:document',
      name: 'Upload documents',
      group: 'Actions',
      keywords: 'create file text pdf import',
      run: () => void navigate(`/documents?upload=1${workspace ? `&workspace=${workspace.id}` : ''}`),
    },
    ...listed.map((item) => ({
      id: `workspace:${item.id}`,
      name: item.name,
      group: 'Switch workspace',
      keywords: item.id,
      run: () => select(item.id),
    })),
    { id: 'theme:light', name: 'Light theme', group: 'Theme', run: () => chooseTheme('light') },
    { id: 'theme:dark', name: 'Dark theme', group: 'Theme', run: () => chooseTheme('dark') },
    { id: 'theme:system', name: 'System theme', group: 'Theme', run: () => chooseTheme('system') },
    {
      id: 'docs',
      name: 'API documentation',
      group: 'Help',
      keywords: 'api openapi reference',
      run: () => void window.open('/api/docs', '_blank', 'noopener'),
    },
    { id: 'logout', name: 'Log out', group: 'Session', keywords: 'sign out', run: () => logout.mutate() },
  ]
}
