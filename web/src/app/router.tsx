import { createBrowserRouter, type RouteObject } from 'react-router'

import { PageError, NotFound, RouteError } from './failures'
import { PAGES, type PageEntry } from './pages'
import { RequireWorkspace } from './RequireWorkspace'
import { Shell } from './Shell'
import { Boot } from './Boot'

function routeOf(page: PageEntry): RouteObject {
  const lazy = async () => {
    let loaded: Awaited<ReturnType<PageEntry['load']>>
    try {
      loaded = await page.load()
    } catch (error) {
      // The router treats a route whose script failed to load as loading and renders nothing.
      return { Component: () => <PageError error={error} /> }
    }
    const Component = loaded.default
    return page.scoped
      ? {
          Component: () => (
            <RequireWorkspace>
              <Component />
            </RequireWorkspace>
          ),
        }
      : { Component }
  }
  const route = { lazy, errorElement: <RouteError /> }
  // A page may have nested routes.
  return page.path === '' ? { index: true, ...route } : { path: `${page.path}/*`, ...route }
}

export const router = createBrowserRouter(
  [
    {
      HydrateFallback: Boot,
      errorElement: <RouteError fullPage />,
      children: [
        {
          path: '/login',
          lazy: async () => ({ Component: (await import('@/pages/login')).default }),
        },
        {
          path: '/',
          Component: Shell,
          children: [...PAGES.map(routeOf), { path: '*', Component: NotFound }],
        },
      ],
    },
  ],
  { basename: '/admin' },
)
