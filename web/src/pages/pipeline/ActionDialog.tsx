import { useEffect, useRef, useState } from 'react'

import {
  Button,
  Checkbox,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  Input,
  Loading,
  Name,
  Notice,
  num,
  plural,
  Progress,
  Table,
  type Column,
} from '@/ui'

import { act, useRefetchDeadLetters } from './data'
import {
  affected,
  runAction,
  type Selection,
  refKey,
  type ActionTotals,
  ACTION_TEXTS,
} from './deadLetterActions'
import type { Action, Outcome } from './shapes'

interface ActionDialogProps {
  action: Action
  selection: Selection
  what: string
  onClose: (done: boolean) => void
}

/** The state of the dialog. */
type Stage = { phase: 'trying' | 'ready' | 'doing' | 'done'; totals: ActionTotals | null; error: unknown }

/** Redrives or discards dead letters: a dry run first, then the action on confirmation. */
export function ActionDialog({ action, selection, what, onClose }: ActionDialogProps) {
  const words = ACTION_TEXTS[action]
  const [again, setAgain] = useState(false)
  const [reason, setReason] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const { stage, tryOut, run } = useAction(action, selection)
  const count = stage.totals ? affected(stage.totals) : 0
  const needsReason = action === 'discard' && reason.trim() === ''
  const done = stage.phase === 'done'
  const confirm = () => {
    setSubmitted(true)
    if (stage.phase === 'ready' && count > 0 && !needsReason) run(again, reason)
  }
  return (
    <Dialog
      open
      size="l"
      sticky={stage.phase === 'doing'}
      onClose={() => onClose(done)}
      title={`${words.verb} dead letters`}
      lead={what}
      onSubmit={confirm}
      footer={
        done ? (
          <Button variant="primary" onClick={() => onClose(true)}>
            Close
          </Button>
        ) : (
          <>
            <Button onClick={() => onClose(false)}>{stage.phase === 'doing' ? 'Stop' : 'Cancel'}</Button>
            <Button
              type="submit"
              variant={action === 'discard' ? 'danger' : 'primary'}
              busy={stage.phase === 'doing' || stage.phase === 'trying'}
              disabled={stage.phase === 'ready' && (count === 0 || Boolean(stage.error))}
            >
              {stage.phase === 'trying' ? 'Loading…' : `${words.verb} ${plural(count, 'dead letter')}`}
            </Button>
          </>
        )
      }
    >
      <div className="stack">
        <p className="muted">{EXPLANATIONS[action]}</p>
        {Boolean(stage.error) && (
          <ErrorNotice error={stage.error} compact>
            {stage.phase !== 'trying' && stage.totals && affected(stage.totals) > 0 && done && (
              <p>
                {plural(affected(stage.totals), 'dead letter was', 'dead letters were')} {words.past} before
                that.
              </p>
            )}
          </ErrorNotice>
        )}
        <Summary stage={stage} past={words.past} ing={words.ing} />
        {!done && (
          <>
            <Field
              label="Reason"
              optional={action === 'redrive'}
              hint="Stored with each dead letter."
              error={(submitted && needsReason && 'Enter a reason.') || fieldError(stage.error, 'reason')}
            >
              <Input
                value={reason}
                maxLength={1000}
                disabled={stage.phase === 'doing'}
                onChange={(e) => setReason(e.target.value)}
              />
            </Field>
            <Checkbox
              label="Include redriven and discarded ones"
              checked={again}
              disabled={stage.phase === 'doing'}
              onChange={(e) => {
                setAgain(e.target.checked)
                tryOut(e.target.checked)
              }}
            />
          </>
        )}
      </div>
    </Dialog>
  )
}

const EXPLANATIONS: Record<Action, string> = {
  redrive:
    'Writes the records back to their topic, where the consumer processes them again. Points keep their original version: newer points are not overwritten, and a second redrive changes nothing.',
  discard: 'Closes the dead letters. The records stay in their topic and can still be redriven.',
}

/** Starts a dry run of the action as soon as its dead letters are known, and runs it on request. */
function useAction(action: Action, selection: Selection) {
  const [stage, setStage] = useState<Stage>({ phase: 'trying', totals: null, error: null })
  const running = useRef<AbortController | null>(null)
  const changed = useRefetchDeadLetters()

  const launch = (options: { dryRun: boolean; again: boolean; reason: string }) => {
    running.current?.abort()
    const stop = new AbortController()
    running.current = stop
    const [busy, end] = options.dryRun ? (['trying', 'ready'] as const) : (['doing', 'done'] as const)
    let last: ActionTotals | null = null
    const onProgress = (totals: ActionTotals) => {
      last = totals
      if (!stop.signal.aborted) setStage({ phase: busy, totals, error: null })
    }
    runAction((body) => act(action, body, stop.signal), selection, options, onProgress, stop.signal).then(
      (totals) => {
        if (!options.dryRun) changed()
        if (stop.signal.aborted) return
        setStage({ phase: end, totals, error: null })
      },
      (error: unknown) => {
        if (!options.dryRun) changed()
        if (!stop.signal.aborted) setStage({ phase: end, totals: last, error })
      },
    )
  }
  // A dry run of a discard requires a reason too; this one is not stored.
  const dryRunOptions = (again: boolean) => ({
    dryRun: true,
    again,
    reason: action === 'discard' ? 'dry run' : '',
  })
  useEffect(() => {
    launch(dryRunOptions(false))
    return () => running.current?.abort()
    // The selection does not change while the dialog is open.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])
  const start = (phase: Stage['phase'], options: Parameters<typeof launch>[0]) => {
    setStage({ phase, totals: null, error: null })
    launch(options)
  }
  return {
    stage,
    tryOut: (again: boolean) => start('trying', dryRunOptions(again)),
    run: (again: boolean, reason: string) => start('doing', { dryRun: false, again, reason }),
  }
}

function Summary({ stage, past, ing }: { stage: Stage; past: string; ing: string }) {
  const { phase, totals } = stage
  const busy = phase === 'trying' || phase === 'doing'
  if (!totals)
    return busy ? (
      <p className="muted" role="status">
        {phase === 'trying' ? 'Dry run in progress…' : `${ing}…`}
      </p>
    ) : null
  const count = affected(totals)
  return (
    <>
      {busy && (
        <div role="status">
          <p className="muted">
            {phase === 'trying' ? 'Checked' : ing}: {num(totals.checked)} of {num(totals.toCheck)}
          </p>
          <Progress label="Checked dead letters" value={totals.checked} max={Math.max(totals.toCheck, 1)} />
          {phase === 'trying' && <Loading what="Trying it out" />}
        </div>
      )}
      {!busy && (
        <Notice
          tone={count > 0 ? (phase === 'done' ? 'ok' : 'info') : 'warn'}
          title={headline(phase === 'done', count, past)}
        >
          {totals.counts.skipped > 0 && (
            <p>
              {plural(totals.counts.skipped, 'dead letter')} {phase === 'done' ? 'were' : 'would be'} skipped.
            </p>
          )}
          {totals.unchecked > 0 && (
            <p>{num(totals.unchecked)} older ones are not checked: filter by topic or by an earlier end.</p>
          )}
        </Notice>
      )}
      {totals.skips.length > 0 && (
        <ul className="pipeline-skips">
          {totals.skips.map((skip) => (
            <li key={skip.why}>
              <b>{num(skip.count)}</b> <Name text={skip.why} max={400} />
            </li>
          ))}
        </ul>
      )}
      {totals.outcomes.length > 0 && !busy && (
        <details className="pipeline-details">
          <summary>
            Dead letters
            {totals.outcomes.length < count + totals.counts.skipped
              ? ` (${num(totals.outcomes.length)} of ${num(count + totals.counts.skipped)})`
              : ''}
          </summary>
          <Table
            label="Dead letters"
            columns={OUTCOMES}
            rows={totals.outcomes}
            rowKey={(item) => refKey(item)}
          />
        </details>
      )}
    </>
  )
}

function headline(done: boolean, count: number, past: string): string {
  if (done) return count > 0 ? `${plural(count, 'dead letter')} ${past}` : `No dead letter was ${past}`
  return count > 0 ? `${plural(count, 'dead letter')} would be ${past}` : `No dead letter would be ${past}`
}

const OUTCOMES: Column<Outcome>[] = [
  {
    id: 'place',
    head: 'Dead letter',
    primary: true,
    narrow: true,
    cell: (item) => <code>{refKey(item)}</code>,
  },
  {
    id: 'fate',
    head: 'What',
    narrow: true,
    cell: (item) => (item.fate === 'skipped' ? 'skipped' : item.fate === 'would' ? 'would be' : item.fate),
  },
  { id: 'holds', head: 'Holds', cell: (item) => <Name text={item.holds} max={80} /> },
  { id: 'reason', head: 'Reason', wide: true, cell: (item) => <Name text={item.reason} max={120} /> },
]
