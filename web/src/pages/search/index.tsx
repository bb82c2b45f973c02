// The search playground: both searches and answers with all their options, an explanation of each hit, and saved
// queries.

import './search.css'
import './answer.css'
import './form.css'

import { useQuery } from '@tanstack/react-query'
import { Bookmark, Save } from 'lucide-react'
import { useRef, useState } from 'react'
import { useSearchParams } from 'react-router'

import { ApiError } from '@/api'
import { useWorkspace } from '@/app/workspace'
import { Button, CodeBlock, Empty, ErrorNotice, Page, Panel, Skeleton } from '@/ui'

import { formOf, paramsOf } from './address'
import { bodyOf, formOfSaved, pathOf } from './body'
import { curlOf } from './curl'
import { checkForm, type Form, type Mode } from './form'
import { AnswerView } from './parts/AnswerView'
import { BESIDE, FormPanel } from './parts/FormPanel'
import { Results } from './parts/Results'
import { SaveDialog } from './parts/SaveDialog'
import { SavedQueries } from './parts/SavedQueries'
import { ask, type Responded } from './request'
import type { SavedQuery } from './types'

export default function SearchPage() {
  const { id: workspace } = useWorkspace()
  const [params, setParams] = useSearchParams()
  const answer = useRef<HTMLDivElement>(null)
  const asked = formOf(params)
  const offset = Math.max(0, Number(params.get('offset') ?? 0) || 0)
  const address = params.toString()
  const [draft, setDraft] = useState<{ of: string; form: Form }>({ of: address, form: asked })
  // A changed URL, by a link or the back button, replaces the form.
  const form = draft.of === address ? draft.form : asked
  const edit = (next: Form) => setDraft({ of: address, form: next })
  const ready = Object.keys(checkForm(asked)).length === 0
  const body = bodyOf(asked, offset)

  const search = useQuery({
    queryKey: ['search', workspace, asked.mode, body],
    queryFn: ({ signal }) => ask(asked.mode, { workspace, body, signal }),
    enabled: ready,
    placeholderData: (before) => (before?.mode === asked.mode ? before : undefined),
    staleTime: Infinity,
    gcTime: 60_000,
  })
  const send = (next: Form, from = 0) => {
    const after = paramsOf(next, params)
    if (from > 0) after.set('offset', String(from))
    else after.delete('offset')
    setDraft({ of: after.toString(), form: next })
    if (after.toString() === address) void search.refetch()
    else setParams(after)
    if (!window.matchMedia(BESIDE).matches) answer.current?.scrollIntoView()
  }

  return (
    <Page
      title="Search"
      lead="Try searches and answers, and see the explanation of each result."
      actions={<SavedActions workspace={workspace} form={form} onRun={send} />}
    >
      <div className="search-page">
        <FormPanel form={form} onChange={edit} onSend={() => send(form)} busy={search.isFetching} />
        <div className="search-answer" ref={answer}>
          {search.error && ready ? (
            <Failure error={search.error} mode={asked.mode} onRetry={() => void search.refetch()} />
          ) : !ready ? (
            <Hint />
          ) : !search.data ? (
            <Panel title={asked.mode === 'answer' ? 'Answer' : 'Results'}>
              <Skeleton lines={8} />
            </Panel>
          ) : (
            <Response
              form={asked}
              response={search.data}
              stale={search.isPlaceholderData}
              workspace={workspace}
              onSend={send}
            />
          )}
          {ready && (
            <Panel title="The request" note="with an API key in $LIVEGRAPH_API_KEY">
              <CodeBlock
                code={curlOf(window.location.origin, pathOf(asked.mode), workspace, body)}
                label="The request as a command"
              />
            </Panel>
          )}
        </div>
      </div>
    </Page>
  )
}

interface ResponseProps {
  form: Form
  response: Responded
  /** The response belongs to the previous request. */
  stale: boolean
  workspace: string
  onSend: (form: Form, offset?: number) => void
}

function Response({ form, response, onSend, ...common }: ResponseProps) {
  const { meta, ms } = response
  return response.mode === 'answer' ? (
    <AnswerView
      {...common}
      answer={response.data}
      descriptions={response.descriptions}
      meta={meta}
      ms={ms}
      onSearch={() => onSend({ ...form, mode: 'hybrid' })}
    />
  ) : (
    <Results
      {...common}
      form={form}
      answer={{ data: response.data, meta }}
      ms={ms}
      onOffset={(from) => onSend(form, from)}
      onSend={onSend}
    />
  )
}

function Failure({ error, mode, onRetry }: { error: Error; mode: Mode; onRetry: () => void }) {
  // The same request would be refused again.
  const refused = error instanceof ApiError && error.status === 422
  return (
    <ErrorNotice error={error} {...(!refused && { onRetry })}>
      {mode === 'search' && !refused && (
        <p>Hybrid search uses words and the graph while the vector index is unavailable.</p>
      )}
      {refused && error.details.field === 'mode' && <p>Select “Quoted sentences”, which need no model.</p>}
      {refused && error.details.field === 'rerank' && <p>Deselect reranking under “More options”.</p>}
    </ErrorNotice>
  )
}

function Hint() {
  return (
    <Panel>
      <Empty title="Search nodes">
        <p>
          Use words or a whole question. Hybrid search also follows edges, so it finds “what runs on the
          machine with the full disk?”. An answer quotes the sentences of the texts that answer a question.
        </p>
      </Empty>
    </Panel>
  )
}

interface SavedActionsProps {
  workspace: string
  form: Form
  onRun: (form: Form, offset?: number) => void
}

/** The buttons and the dialogs of saved queries. */
function SavedActions({ workspace, form, onRun }: SavedActionsProps) {
  const [listed, setListed] = useState(false)
  const [saving, setSaving] = useState<{ replaced: SavedQuery | null } | null>(null)
  // The query that was run or saved last. Saving the form again replaces it, unless the name is changed.
  const [current, setCurrent] = useState<SavedQuery | null>(null)
  const run = (saved: SavedQuery) => {
    const { offset } = saved.request
    setListed(false)
    setCurrent(saved)
    onRun(formOfSaved(saved), typeof offset === 'number' ? offset : 0)
  }
  return (
    <>
      <Button icon={<Bookmark size={16} />} onClick={() => setListed(true)}>
        Saved queries
      </Button>
      <Button icon={<Save size={16} />} onClick={() => setSaving({ replaced: current })}>
        Save…
      </Button>
      {listed && (
        <SavedQueries
          workspace={workspace}
          onClose={() => setListed(false)}
          onRun={run}
          onSave={(replaced) => setSaving({ replaced })}
        />
      )}
      {saving && (
        <SaveDialog
          workspace={workspace}
          form={form}
          replaced={saving.replaced}
          onClose={() => setSaving(null)}
          onSaved={(saved) => {
            setCurrent(saved)
            setSaving(null)
          }}
        />
      )}
    </>
  )
}
