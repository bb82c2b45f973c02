import { useWorkspaces } from '@/app/workspace'
import { ButtonLink, CodeBlock, Panel } from '@/ui'

/** Instructions for an installation without data. */
export function FirstSteps() {
  const { workspace } = useWorkspaces()
  const { origin } = window.location
  const code = [
    `export LIVEGRAPH_API_KEY=…   # the key from step 1`,
    `curl -s ${origin}/api/live-data/ingest \\`,
    `  -H "Authorization: Bearer $LIVEGRAPH_API_KEY" -H "x-workspace-id: ${workspace?.id ?? 'WORKSPACE_ID'}" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"source": "pump", "points": [{"metric": "temperature", "value": 71.5}]}'`,
  ].join('\n')
  return (
    <Panel title="No points yet" note="three steps to the first chart">
      <ol className="overview-steps">
        <li>
          <div className="overview-step">
            <h3>Create a key</h3>
            <p className="muted">Select the scope write:livedata.</p>
          </div>
          <ButtonLink to="/keys?new=1" variant="primary">
            New key
          </ButtonLink>
        </li>
        <li>
          <div className="overview-step">
            <h3>Send a point</h3>
            <p className="muted">The first point creates the source.</p>
            <CodeBlock code={code} label="A request that sends a point" />
          </div>
        </li>
        <li>
          <div className="overview-step">
            <h3>See the point</h3>
            <p className="muted">
              It is visible within a second. Or stream metrics of this machine: <code>livegraph demo</code>
            </p>
          </div>
          <ButtonLink to="/sources">Sources</ButtonLink>
        </li>
      </ol>
    </Panel>
  )
}
