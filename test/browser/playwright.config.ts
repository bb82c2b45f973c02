import { defineConfig } from '@playwright/test'

// One browser, one test at a time: they share a server and two cores, and a test that only passes at the second try is
// a finding. What is waited for is waited for generously, since a machine may be busy with other things.
export default defineConfig({
  testDir: 'specs',
  globalSetup: './seed.ts',
  outputDir: `${process.env['LIVEGRAPH_STATE'] ?? 'test-results'}/failures`,
  // What takes long is marked @full, and runs with make test-all.
  ...(process.env['LIVEGRAPH_TEST'] === 'all' ? {} : { grepInvert: /@full/ }),
  workers: 1,
  retries: 0,
  forbidOnly: true,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  // The second is for the test that started us, which makes a test of each spec.
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
      executablePath: '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        // A name under which the server is no secure context: plain HTTP that does not come from this machine.
        '--host-resolver-rules=MAP plain.livegraph.test 127.0.0.1',
      ],
    },
  },
})
