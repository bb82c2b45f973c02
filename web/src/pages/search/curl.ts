// A request as a shell command.

import { shellWord } from '@/ui/format'

/** Returns a curl command that posts JSON to the API with the key in $LIVEGRAPH_API_KEY. */
export function curlOf(origin: string, path: string, workspace: string, body: unknown): string {
  const lines = [
    `curl -s ${shellWord(`${origin}/api${path}`)}`,
    `-H "Authorization: Bearer $LIVEGRAPH_API_KEY"`,
    `-H ${shellWord(`x-workspace-id: ${workspace}`)}`,
    `-H 'Content-Type: application/json'`,
    `--data-raw ${shellWord(JSON.stringify(body))}`,
  ]
  return lines.join(' \\\n  ')
}
