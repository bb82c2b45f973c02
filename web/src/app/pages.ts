// The list of pages: path, name and module. The navigation and the palette are generated from it.

import {
  Activity,
  BellRing,
  Building2,
  FileClock,
  FileText,
  KeyRound,
  LayoutDashboard,
  Network,
  Radio,
  Search,
  UserRound,
  Waypoints,
  type LucideIcon,
} from 'lucide-react'
import type { ComponentType } from 'react'

export interface PageEntry {
  /** The path below /admin; empty for the first page. */
  path: string
  name: string
  icon: LucideIcon
  group: 'Service' | 'Workspace' | 'Access' | 'You'
  /** The page shows one workspace, which `useWorkspace()` returns. */
  scoped: boolean
  /** Further search terms of the palette. */
  keywords: string
  load: () => Promise<{ default: ComponentType }>
}

export const PAGES: readonly PageEntry[] = [
  {
    path: '',
    name: 'Overview',
    icon: LayoutDashboard,
    group: 'Service',
    scoped: false,
    keywords: 'home health rates lag freshness stores',
    load: () => import('@/pages/overview'),
  },
  {
    path: 'pipeline',
    name: 'Pipeline',
    icon: Waypoints,
    group: 'Service',
    scoped: false,
    keywords: 'topics kafka lag dead letters replay redrive',
    load: () => import('@/pages/pipeline'),
  },
  {
    path: 'sources',
    name: 'Sources',
    icon: Radio,
    group: 'Workspace',
    scoped: true,
    keywords: 'live data explorer charts points series metrics query',
    load: () => import('@/pages/sources'),
  },
  {
    path: 'graph',
    name: 'Graph',
    icon: Network,
    group: 'Workspace',
    scoped: true,
    keywords: 'nodes edges explorer history undo',
    load: () => import('@/pages/graph'),
  },
  {
    path: 'documents',
    name: 'Documents',
    icon: FileText,
    group: 'Workspace',
    scoped: true,
    keywords: 'upload files texts markdown pdf word passages import',
    load: () => import('@/pages/documents'),
  },
  {
    path: 'alerts',
    name: 'Alerts',
    icon: BellRing,
    group: 'Workspace',
    scoped: true,
    keywords: 'rules prometheus recording firing webhooks deliveries',
    load: () => import('@/pages/alerts'),
  },
  {
    path: 'search',
    name: 'Search',
    icon: Search,
    group: 'Workspace',
    scoped: true,
    keywords: 'rag hybrid semantic playground answer question facets saved queries',
    load: () => import('@/pages/search'),
  },
  {
    path: 'indexes',
    name: 'Indexes',
    icon: Activity,
    group: 'Workspace',
    scoped: false,
    keywords: 'embeddings vectors re-index model',
    load: () => import('@/pages/indexes'),
  },
  {
    path: 'workspaces',
    name: 'Workspaces',
    icon: Building2,
    group: 'Access',
    scoped: false,
    keywords: 'plans limits tenants',
    load: () => import('@/pages/workspaces'),
  },
  {
    path: 'keys',
    name: 'Keys',
    icon: KeyRound,
    group: 'Access',
    scoped: false,
    keywords: 'api keys scopes roll revoke',
    load: () => import('@/pages/keys'),
  },
  {
    path: 'audit',
    name: 'Audit log',
    icon: FileClock,
    group: 'Access',
    scoped: false,
    keywords: 'uses requests csv',
    load: () => import('@/pages/audit'),
  },
  {
    path: 'account',
    name: 'Account',
    icon: UserRound,
    group: 'You',
    scoped: false,
    keywords: 'password operators session',
    load: () => import('@/pages/account'),
  },
]

/** The groups in the order of the navigation. */
export const GROUPS = ['Service', 'Workspace', 'Access', 'You'] as const
