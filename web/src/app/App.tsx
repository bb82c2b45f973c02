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
          {/* With transitions the URL is updated late: the second of two quick changes of a filter would start from
              the state before the first. */}
          <RouterProvider router={router} useTransitions={false} />
        </ToastProvider>
      </TooltipProvider>
    </QueryClientProvider>
  )
}
