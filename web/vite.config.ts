import { fileURLToPath } from 'node:url'

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  base: '/admin/',
  plugins: [react()],
  resolve: {
    alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) },
  },
  build: {
    // The first of each that know light-dark(), so that it is left as it is written.
    target: ['chrome125', 'firefox128', 'safari17.5'],
    // The page's policy lets nothing come from a data: address.
    assetsInlineLimit: 0,
    // The folder's .keep, by which Go can embed it before it was built, comes from public/.
    emptyOutDir: true,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
  },
  server: {
    // `npm run dev` beside a running server: DEV_SERVER=http://127.0.0.1:8080
    proxy: { '/admin/api': { target: process.env['DEV_SERVER'] ?? 'http://127.0.0.1:8080' } },
  },
  test: {
    include: ['src/**/*.test.ts', 'src/**/*.test.tsx'],
    environment: 'node',
    // A machine that is busy with other things fails no test.
    testTimeout: 60_000,
  },
})
