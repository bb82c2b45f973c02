// A query as a shell command.
import { shellWord } from '@/ui/format'

import type { Pair } from './query'

export interface CurlRequest {
  origin: string
  path: string
  workspaceId: string
  pairs: readonly Pair[]
}

/**
 * Returns a GET request that reads the API key from the environment, so that the key is neither in the page nor in the
 * shell history.
 */
export function curlText({ origin, path, workspaceId, pairs }: CurlRequest): string {
  return continued([
    `curl -sS --get ${shellWord(origin + path)}`,
    ...headers(workspaceId),
    // curl encodes the text after the first =, and nothing before it.
    ...pairs.map(([name, value]) => `--data-urlencode ${shellWord(`${encodeURIComponent(name)}=${value}`)}`),
  ])
}

/** Returns a command that sends points in line protocol, which creates the source if it does not exist. */
export function ingestText(origin: string, workspaceId: string, line: string): string {
  return continued([
    `curl -sS ${shellWord(`${origin}/api/live-data/ingest`)}`,
    ...headers(workspaceId),
    `-H 'Content-Type: text/plain'`,
    `--data-binary ${shellWord(line)}`,
  ])
}

const headers = (workspaceId: string) => [
  `-H "Authorization: Bearer $LIVEGRAPH_API_KEY"`,
  `-H ${shellWord(`X-Workspace-Id: ${workspaceId}`)}`,
]

const continued = (lines: string[]) => lines.join(' \\\n  ')
