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

import { act, useLettersChanged } from './data'
import { affected, carryOut, type Chosen, placeKey, type Sum, WORDS } from './letters'
import type { Action, Outcome } from './shapes'

interface ActionDialogProps {
  action: Action
  chosen: Chosen
  what: string
  onClose: (done: boolean) => void
}

/** Where the dialog is. */
type Stage = { at: 'trying' | 'ready' | 'doing' | 'done'; sum: Sum | null; error: unknown }

/** Redrives or discards letters: first it says what would be done, then it is done, if that is wanted. */
export function ActionDialog({ action, chosen, what, onClose }: ActionDialogProps) {
  const words = WORDS[action]
  const [again, setAgain] = useState(false)
  const [reason, setReason] = useState('')
  const [asked, setAsked] = useState(false)
  const { stage, tryOut, run } = useAction(action, chosen)
  const count = stage.sum ? affected(stage.sum) : 0
  const needsReason = action === 'discard' && reason.trim() === ''
  const done = stage.at === 'done'
  const confirm = () => {
    setAsked(true)
    if (stage.at === 'ready' && count > 0 && !needsReason) run(again, reason)
  }
  return (
    <Dialog
      open
      size="l"
      sticky={stage.at === 'doing'}
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
            <Button onClick={() => onClose(false)}>{stage.at === 'doing' ? 'Stop' : 'Cancel'}</Button>
            <Button
              type="submit"
              variant={action === 'discard' ? 'danger' : 'primary'}
              busy={stage.at === 'doing' || stage.at === 'trying'}
              disabled={stage.at === 'ready' && (count === 0 || Boolean(stage.error))}
            >
              {stage.at === 'trying' ? 'Loading…' : `${words.verb} ${plural(count, 'dead letter')}`}
            </Button>
          </>
        )
      }
    >
      <div className="stack">
        <p className="muted">{SAYS[action]}</p>
        {Boolean(stage.error) && (
          <ErrorNotice error={stage.error} compact>
            {stage.at !== 'trying' && stage.sum && affected(stage.sum) > 0 && done && (
              <p>
                {plural(affected(stage.sum), 'dead letter was', 'dead letters were')} {words.past} before
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
              error={(asked && needsReason && 'Enter a reason.') || fieldError(stage.error, 'reason')}
            >
              <Input
                value={reason}
                maxLength={1000}
                disabled={stage.at === 'doing'}
                onChange={(e) => setReason(e.target.value)}
              />
            </Field>
            <Checkbox
              label="Include redriven and discarded ones"
              checked={again}
              disabled={stage.at === 'doing'}
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

const SAYS: Record<Action, string> = {
  redrive:
    'Writes the records back to their topic, where the consumer processes them again. Points keep their original version: newer points are not overwritten, and a second redrive changes nothing.',
  discard: 'Closes the dead letters. The records stay in their topic and can still be redriven.',
}

/** Starts a dry run of the action as soon as its dead letters are known, and runs it on request. */
function useAction(action: Action, chosen: Chosen) {
  const [stage, setStage] = useState<Stage>({ at: 'trying', sum: null, error: null })
  const running = useRef<AbortController | null>(null)
  const changed = useLettersChanged()

  const launch = (how: { dryRun: boolean; again: boolean; reason: string }) => {
    running.current?.abort()
    const stop = new AbortController()
    running.current = stop
    const [busy, end] = how.dryRun ? (['trying', 'ready'] as const) : (['doing', 'done'] as const)
    let last: Sum | null = null
    const onProgress = (sum: Sum) => {
      last = sum
      if (!stop.signal.aborted) setStage({ at: busy, sum, error: null })
    }
    carryOut((body) => act(action, body, stop.signal), chosen, how, onProgress, stop.signal).then(
      (sum) => {
        if (!how.dryRun) changed()
        if (stop.signal.aborted) return
        setStage({ at: end, sum, error: null })
      },
      (error: unknown) => {
        if (!how.dryRun) changed()
        if (!stop.signal.aborted) setStage({ at: end, sum: last, error })
      },
    )
  }
  // A dry run of a discard requires a reason too; this one is not stored.
  const trial = (again: boolean) => ({ dryRun: true, again, reason: action === 'discard' ? 'dry run' : '' })
  useEffect(() => {
    launch(trial(false))
    return () => running.current?.abort()
    // What is chosen stays while the dialog is open.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])
  const begin = (at: Stage['at'], how: Parameters<typeof launch>[0]) => {
    setStage({ at, sum: null, error: null })
    launch(how)
  }
  return {
    stage,
    tryOut: (again: boolean) => begin('trying', trial(again)),
    run: (again: boolean, reason: string) => begin('doing', { dryRun: false, again, reason }),
  }
}

function Summary({ stage, past, ing }: { stage: Stage; past: string; ing: string }) {
  const { at, sum } = stage
  const busy = at === 'trying' || at === 'doing'
  if (!sum)
    return busy ? (
      <p className="muted" role="status">
        {at === 'trying' ? 'Dry run in progress…' : `${ing}…`}
      </p>
    ) : null
  const count = affected(sum)
  return (
    <>
      {busy && (
        <div role="status">
          <p className="muted">
            {at === 'trying' ? 'Checked' : ing}: {num(sum.looked)} of {num(sum.toLook)}
          </p>
          <Progress label="Checked dead letters" value={sum.looked} max={Math.max(sum.toLook, 1)} />
          {at === 'trying' && <Loading what="Trying it out" />}
        </div>
      )}
      {!busy && (
        <Notice
          tone={count > 0 ? (at === 'done' ? 'ok' : 'info') : 'warn'}
          title={headline(at === 'done', count, past)}
        >
          {sum.counts.skipped > 0 && (
            <p>
              {plural(sum.counts.skipped, 'dead letter')} {at === 'done' ? 'were' : 'would be'} skipped.
            </p>
          )}
          {sum.beyond > 0 && (
            <p>{num(sum.beyond)} older ones are not checked: filter by topic or by an earlier end.</p>
          )}
        </Notice>
      )}
      {sum.skips.length > 0 && (
        <ul className="pipeline-skips">
          {sum.skips.map((skip) => (
            <li key={skip.why}>
              <b>{num(skip.count)}</b> <Name text={skip.why} max={400} />
            </li>
          ))}
        </ul>
      )}
      {sum.outcomes.length > 0 && !busy && (
        <details className="pipeline-details">
          <summary>
            Dead letters
            {sum.outcomes.length < count + sum.counts.skipped
              ? ` (${num(sum.outcomes.length)} of ${num(count + sum.counts.skipped)})`
              : ''}
          </summary>
          <Table
            label="Dead letters"
            columns={OUTCOMES}
            rows={sum.outcomes}
            rowKey={(one) => placeKey(one)}
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
    cell: (one) => <code>{placeKey(one)}</code>,
  },
  {
    id: 'fate',
    head: 'What',
    narrow: true,
    cell: (one) => (one.fate === 'skipped' ? 'skipped' : one.fate === 'would' ? 'would be' : one.fate),
  },
  { id: 'holds', head: 'Holds', cell: (one) => <Name text={one.holds} max={80} /> },
  { id: 'reason', head: 'Reason', wide: true, cell: (one) => <Name text={one.reason} max={120} /> },
]
