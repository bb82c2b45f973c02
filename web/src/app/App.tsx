import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from 'react-router'

import { ToastProvider, TooltipProvider } from '@/ui'

import { queryClient } from './queries'
import { router } from './router'

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <ToastProvider>
          {/* As transitions, addresses would follow late: of two quick changes of a filter the second would begin from
              what was there before the first. */}
          <RouterProvider router={router} useTransitions={false} />
        </ToastProvider>
      </TooltipProvider>
    </QueryClientProvider>
  )
}
