import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { shellWord } from '@/ui/format'
import { curlText, ingestText } from './curl'

/** Returns the arguments that a shell passes to a command. */
function words(text: string): string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${text}`
  return execFileSync('sh', ['-c', script], {
    env: { LIVEGRAPH_API_KEY: 'the key' },
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1)
}

const hostile = 'it\'s $(rm -rf /) `id` "quoted" \\ !\nnext $HOME &;|<>'

describe('a shell word', () => {
  it('is one argument regardless of its characters', () => {
    for (const text of ['', 'plain', "'", "''", hostile, '-x', '@file', 'ü 日本'])
      expect(words(`curl ${shellWord(text)}`)).toEqual([text])
  })
})

describe('a query as a curl command', () => {
  it('passes the URL, the headers and each parameter to curl', () => {
    const text = curlText({
      origin: 'http://localhost:8080',
      path: '/api/live-data/query',
      workspaceId: '0192f0c1-0000-7000-8000-000000000001',
      pairs: [
        ['metric', hostile],
        ['tag.a=b&c', '50% = half'],
        ['from', '-1h'],
      ],
    })
    expect(words(text)).toEqual([
      '-sS',
      '--get',
      'http://localhost:8080/api/live-data/query',
      '-H',
      'Authorization: Bearer the key',
      '-H',
      'X-Workspace-Id: 0192f0c1-0000-7000-8000-000000000001',
      '--data-urlencode',
      `metric=${hostile}`,
      '--data-urlencode',
      'tag.a%3Db%26c=50% = half',
      '--data-urlencode',
      'from=-1h',
    ])
  })

  it('sends points unchanged', () => {
    const line = `it's\\ hot,room=a\\ b temperature=71.5 # "x"`
    const sent = words(ingestText('http://localhost', 'w', line))
    expect(sent.slice(-2)).toEqual(['--data-binary', line])
    expect(sent[1]).toBe('http://localhost/api/live-data/ingest')
  })

  it('does not contain a key', () => {
    const text = curlText({
      origin: 'http://localhost',
      path: '/api/x',
      workspaceId: 'w',
      pairs: [],
    })
    expect(text).toContain('Bearer $LIVEGRAPH_API_KEY')
    expect(text).not.toMatch(/lg_(live|test)_/)
  })
})
