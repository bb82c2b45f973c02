import { useState } from 'react'

import { useWorkspace } from '@/app/workspace'
import { CodeBlock, Segmented } from '@/ui'

import { curlText } from './curl'
import type { Pair } from './query'

type Form = 'json' | 'csv' | 'ndjson'

const FORMS: readonly { value: Form; label: string }[] = [
  { value: 'json', label: 'JSON' },
  { value: 'csv', label: 'CSV' },
  { value: 'ndjson', label: 'NDJSON' },
]

/** The request as a command or URL. */
export function RequestView({ pairs }: { pairs: readonly Pair[] | null }) {
  const workspace = useWorkspace()
  const [form, setForm] = useState<Form>('json')
  if (!pairs) return <p className="muted">The query is not complete yet.</p>
  const asked: Pair[] = form === 'json' ? [...pairs] : [...pairs, ['format', form]]
  const code = curlText({
    origin: window.location.origin,
    path: '/api/live-data/query',
    workspaceId: workspace.id,
    pairs: asked,
  })
  return (
    <div className="stack">
      <div className="row spread">
        <p className="muted">
          Set an API key with the scope read:livedata first: <code>export LIVEGRAPH_API_KEY=lg_live_…</code>
        </p>
        <Segmented label="Response format" value={form} onChange={setForm} options={FORMS} />
      </div>
      <CodeBlock label="The query as a curl command" code={code} />
    </div>
  )
}
