import { defineConfig } from '@playwright/test'

// One browser and one test at a time, because they share a server and two cores. There are no retries: a test that
// passes only at the second attempt has found a bug. Timeouts are long, because the machine may be busy.
export default defineConfig({
  testDir: 'specs',
  globalSetup: './seed.ts',
  outputDir: `${process.env['LIVEGRAPH_STATE'] ?? 'test-results'}/failures`,
  // Long tests are tagged @full and run with make test-all.
  ...(process.env['LIVEGRAPH_TEST'] === 'all' ? {} : { grepInvert: /@full/ }),
  workers: 1,
  retries: 0,
  forbidOnly: true,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  // The Go test reads the JSON report and runs a subtest for each spec.
  reporter: [['list'], ['json', { outputFile: process.env['LIVEGRAPH_RESULTS'] ?? 'test-results/results.json' }]],
  use: {
    baseURL: process.env['LIVEGRAPH_URL'],
    storageState: `${process.env['LIVEGRAPH_STATE'] ?? ''}/session.json`,
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    actionTimeout: 30_000,
    screenshot: 'off',
    trace: 'off',
    launchOptions: {
      executablePath: process.env['LIVEGRAPH_CHROMIUM'],
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        // A host name that is not a secure context, like plain HTTP from another machine.
        '--host-resolver-rules=MAP plain.livegraph.test 127.0.0.1',
      ],
    },
  },
})
