import {
  Check,
  ChevronsUpDown,
  LogOut,
  Monitor,
  Moon,
  Plus,
  Search,
  Settings2,
  Sun,
  UserRound,
} from 'lucide-react'
import { NavLink, useNavigate } from 'react-router'

import { IconButton, Menu, MenuItem, MenuLabel, MenuSeparator, Name, num } from '@/ui'
import { chooseTheme, useTheme, type Theme } from '@/ui/scheme'

import { GROUPS, PAGES, type PageEntry } from './pages'
import { useLogout, useSession } from './session'
import { useWorkspaceChoices, useWorkspaces } from './workspace'

export function Brand() {
  return (
    <span className="brand">
      <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="brand-back" />
        <path d="M6 19h4.5l3-9 5 13 3-7.5H26" className="brand-line" />
      </svg>
      Livegraph
    </span>
  )
}

/** The navigation. */
export function Sidebar({ onPalette, onNavigate }: { onPalette: () => void; onNavigate?: () => void }) {
  return (
    <div className="sidebar">
      <div className="sidebar-top">
        <Brand />
      </div>
      <WorkspaceSwitcher onPalette={onPalette} />
      <button type="button" className="sidebar-find" onClick={onPalette}>
        <Search size={14} aria-hidden="true" />
        <span>Find…</span>
        <kbd className="kbd">Ctrl K</kbd>
      </button>
      <nav className="sidebar-nav" aria-label="Pages">
        {GROUPS.filter((group) => group !== 'You').map((group) => (
          <div key={group} className="sidebar-group">
            <div className="sidebar-heading" id={`nav-${group}`}>
              {group}
            </div>
            <ul className="sidebar-list" aria-labelledby={`nav-${group}`}>
              {PAGES.filter((page) => page.group === group).map((page) => (
                <li key={page.path}>
                  <PageLink page={page} onNavigate={onNavigate} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <SidebarFooter onNavigate={onNavigate} />
    </div>
  )
}

function PageLink({ page, onNavigate }: { page: PageEntry; onNavigate: (() => void) | undefined }) {
  const { workspace } = useWorkspaces()
  const Icon = page.icon
  const search = page.scoped && workspace ? `?workspace=${workspace.id}` : ''
  return (
    <NavLink
      className="sidebar-link"
      to={{ pathname: `/${page.path}`, search }}
      end={page.path === ''}
      onClick={onNavigate}
    >
      <Icon size={16} aria-hidden="true" />
      {page.name}
    </NavLink>
  )
}

function WorkspaceSwitcher({ onPalette }: { onPalette: () => void }) {
  const { workspace, total, select } = useWorkspaces()
  const { choices, hasMore } = useWorkspaceChoices('')
  // The selected workspace may not be among the first ones.
  const listed =
    workspace && !choices.some((item) => item.id === workspace.id) ? [workspace, ...choices] : choices
  const navigate = useNavigate()
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="switcher">
          <span className="switcher-mark" aria-hidden="true">
            {initial(workspace?.name)}
          </span>
          <span className="switcher-name">
            <span className="sr-only">Workspace: </span>
            {workspace ? <Name text={workspace.name} max={80} /> : 'none'}
          </span>
          <ChevronsUpDown size={14} aria-hidden="true" />
        </button>
      }
    >
      <MenuLabel>Workspace</MenuLabel>
      {hasMore && (
        <MenuItem icon={<Search size={14} />} onSelect={onPalette}>
          Find one of {num(total)}…
        </MenuItem>
      )}
      {listed.map((item) => (
        <MenuItem
          key={item.id}
          onSelect={() => select(item.id)}
          hint={item.id === workspace?.id ? <Check size={14} /> : item.mode === 'test' ? 'test' : ''}
        >
          <Name text={item.name} max={80} />
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={<Settings2 size={14} />} onSelect={() => void navigate('/workspaces')}>
        All workspaces
      </MenuItem>
      <MenuItem icon={<Plus size={14} />} onSelect={() => void navigate('/workspaces?new=1')}>
        New workspace
      </MenuItem>
    </Menu>
  )
}

function initial(name: string | undefined): string {
  const letter = [...(name ?? '').normalize('NFC')].find((c) => /[\p{L}\p{N}]/u.test(c))
  return letter?.toUpperCase() ?? '·'
}

const THEMES: { value: Theme; label: string; icon: typeof Sun }[] = [
  { value: 'system', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
]

function SidebarFooter({ onNavigate }: { onNavigate: (() => void) | undefined }) {
  const session = useSession()
  const logout = useLogout()
  const navigate = useNavigate()
  const theme = useTheme()
  const ThemeIcon = THEMES.find((item) => item.value === theme)?.icon ?? Monitor
  return (
    <div className="sidebar-foot">
      <Menu
        align="start"
        trigger={
          <button type="button" className="sidebar-user">
            <UserRound size={16} aria-hidden="true" />
            <Name text={session.data?.operator.name} max={60} />
          </button>
        }
      >
        <MenuItem
          icon={<UserRound size={14} />}
          onSelect={() => {
            void navigate('/account')
            onNavigate?.()
          }}
        >
          Account and operators
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={<LogOut size={14} />} onSelect={() => logout.mutate()}>
          Log out
        </MenuItem>
      </Menu>
      <Menu
        trigger={
          <IconButton label="Theme">
            <ThemeIcon size={16} />
          </IconButton>
        }
      >
        {THEMES.map(({ value, label, icon: Icon }) => (
          <MenuItem
            key={value}
            icon={<Icon size={14} />}
            hint={theme === value ? <Check size={14} /> : ''}
            onSelect={() => chooseTheme(value)}
          >
            {label}
          </MenuItem>
        ))}
      </Menu>
    </div>
  )
}
