import { useWorkspaces } from '@/app/workspace'
import { ButtonLink, CodeBlock, Panel } from '@/ui'

/** What to do where nothing was sent yet. */
export function FirstSteps() {
  const { workspace } = useWorkspaces()
  const { origin } = window.location
  const code = [
    `export KEY=…   # the key from step 1`,
    `curl -s ${origin}/api/live-data/ingest \\`,
    `  -H "Authorization: Bearer $KEY" -H "x-workspace-id: ${workspace?.id ?? 'WORKSPACE_ID'}" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"source": "pump", "points": [{"metric": "temperature", "value": 71.5}]}'`,
  ].join('\n')
  return (
    <Panel title="Nothing was sent yet" note="three steps to the first chart">
      <ol className="overview-steps">
        <li>
          <div className="overview-step">
            <h3>Make a key</h3>
            <p className="muted">With the scope write:livedata, so that it can send.</p>
          </div>
          <ButtonLink to="/keys?new=1" variant="primary">
            New key
          </ButtonLink>
        </li>
        <li>
          <div className="overview-step">
            <h3>Send a point</h3>
            <p className="muted">The source is made by the first one.</p>
            <CodeBlock code={code} label="A request that sends a point" />
          </div>
        </li>
        <li>
          <div className="overview-step">
            <h3>See it</h3>
            <p className="muted">
              Within a second it is there. Or have this machine stream its own metrics:{' '}
              <code>livegraph demo</code>
            </p>
          </div>
          <ButtonLink to="/sources">Sources</ButtonLink>
        </li>
      </ol>
    </Panel>
  )
}
