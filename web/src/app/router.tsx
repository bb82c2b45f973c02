import { createBrowserRouter, type RouteObject } from 'react-router'

import { Missing, RouteError } from './failures'
import { PAGES, type PageEntry } from './pages'
import { Scoped } from './Scoped'
import { Shell } from './Shell'
import { Boot } from './Boot'

function routeOf(page: PageEntry): RouteObject {
  const lazy = async () => {
    const { default: Component } = await page.load()
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
