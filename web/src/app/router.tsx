import { createBrowserRouter, type RouteObject } from 'react-router'

import { Failed, Missing, RouteError } from './failures'
import { PAGES, type PageEntry } from './pages'
import { Scoped } from './Scoped'
import { Shell } from './Shell'
import { Boot } from './Boot'

function routeOf(page: PageEntry): RouteObject {
  const lazy = async () => {
    let loaded: Awaited<ReturnType<PageEntry['load']>>
    try {
      loaded = await page.load()
    } catch (error) {
      // The router takes a route whose script did not come for one that is still loading, and shows nothing at all.
      return { Component: () => <Failed error={error} /> }
    }
    const Component = loaded.default
    return page.scoped
      ? {
          Component: () => (
            <Scoped>
              <Component />
            </Scoped>
          ),
        }
      : { Component }
  }
  const route = { lazy, errorElement: <RouteError /> }
  // A page may have routes below its own.
  return page.path === '' ? { index: true, ...route } : { path: `${page.path}/*`, ...route }
}

export const router = createBrowserRouter(
  [
    {
      HydrateFallback: Boot,
      errorElement: <RouteError whole />,
      children: [
        {
          path: '/login',
          lazy: async () => ({ Component: (await import('@/pages/login')).default }),
        },
        {
          path: '/',
          Component: Shell,
          children: [...PAGES.map(routeOf), { path: '*', Component: Missing }],
        },
      ],
    },
  ],
  { basename: '/admin' },
)
