import { fileURLToPath } from 'node:url'

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

const devServer = process.env['DEV_SERVER'] ?? 'http://127.0.0.1:8080'

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
    // `make dev` starts both; `npm run dev` alone goes to the server at DEV_SERVER.
    proxy: Object.fromEntries(['/admin/api', '/api'].map((path) => [path, { target: devServer }])),
  },
  test: {
    include: ['src/**/*.test.ts', 'src/**/*.test.tsx'],
    environment: 'node',
    // Files that share the modules of a worker take a third of the time. Each resets the state that it needs.
    pool: 'threads',
    isolate: false,
    // A machine that is busy with other things fails no test.
    testTimeout: 60_000,
  },
})
