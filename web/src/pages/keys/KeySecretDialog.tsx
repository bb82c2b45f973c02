import { useState, type ReactNode } from 'react'

import { Button, CodeBlock, Dialog, Notice, Secret } from '@/ui'

/**
 * Shows the text of a key once. The text is passed as a property and stored nowhere else: not in a query cache, the
 * URL or browser storage.
 */
export function KeySecretDialog({
  title,
  text,
  workspaceId,
  children,
  onClose,
}: {
  title: string
  text: string
  workspaceId: string | undefined
  children?: ReactNode
  onClose: () => void
}) {
  const [copied, setCopied] = useState(false)
  const origin = window.location.origin
  const example = [
    `curl -s ${origin}/api/live-data/sources \\`,
    `  -H "Authorization: Bearer $LIVEGRAPH_API_KEY" \\`,
    `  -H "x-workspace-id: ${workspaceId ?? 'WORKSPACE_ID'}"`,
  ].join('\n')
  return (
    <Dialog
      open
      sticky
      onClose={onClose}
      title={title}
      footer={
        <Button variant={copied ? 'primary' : 'default'} onClick={onClose}>
          {copied ? 'Done' : 'I have saved it'}
        </Button>
      }
    >
      <div className="stack">
        <Notice tone="warn" title="This is shown once">
          <p>Copy it now. It cannot be shown again; roll the key if it is lost.</p>
        </Notice>
        <Secret kind="key" text={text} onCopied={() => setCopied(true)} />
        {children}
        <div className="stack keys-try">
          <span className="field-label">With the key in $LIVEGRAPH_API_KEY</span>
          <CodeBlock code={example} label="A request with the key" />
        </div>
      </div>
    </Dialog>
  )
}
