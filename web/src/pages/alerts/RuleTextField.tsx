// The text of a file of rules, with line numbers and marks at the lines with errors.

import { CircleAlert } from 'lucide-react'
import { useEffect, useRef, type CSSProperties, type KeyboardEvent } from 'react'

import { Field, plural, Textarea, visible } from '@/ui'

import type { RuleProblem } from './data'
import { nextIndent } from './ruleText'

interface RuleTextFieldProps {
  text: string
  onChange: (text: string) => void
  problems: readonly RuleProblem[]
  /** Counts the refusals by the server. After each of them the first error is scrolled into view. */
  refusals: number
}

export function RuleTextField({ text, onChange, problems, refusals }: RuleTextFieldProps) {
  const area = useRef<HTMLTextAreaElement>(null)
  const lines = useRef<HTMLDivElement>(null)
  const first = useRef<number>(undefined)
  const count = text.split('\n').length
  useEffect(() => {
    first.current = problems.find((problem) => problem.line)?.line
  }, [problems])
  useEffect(() => {
    if (refusals > 0 && first.current) scrollToLine(area.current, first.current)
  }, [refusals])
  const scroll = () => {
    if (area.current && lines.current) lines.current.style.translate = `0 ${-area.current.scrollTop}px`
  }
  return (
    <Field
      label="Rules"
      hint="In Prometheus’ format. Enter keeps the indentation, Ctrl-Enter saves."
      error={
        problems.length > 0 && <Problems problems={problems} onShow={(line) => select(area.current, line)} />
      }
    >
      <div className="alerts-code" style={{ '--alerts-digits': String(count).length } as CSSProperties}>
        <div className="alerts-code-back" aria-hidden="true">
          <div className="alerts-code-lines" ref={lines}>
            {problems.map((problem, i) => problem.line && <Mark key={i} line={problem.line} />)}
            <div className="alerts-code-numbers">{numbers(count)}</div>
          </div>
        </div>
        <Textarea
          ref={area}
          className="alerts-code-text"
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          value={text}
          onChange={(e) => onChange(e.target.value)}
          onKeyDown={onKeyDown}
          onScroll={scroll}
        />
      </div>
    </Field>
  )
}

function Mark({ line }: { line: number }) {
  return (
    <div className="alerts-code-mark" style={{ top: `calc(var(--alerts-line) * ${line - 1})` }}>
      <CircleAlert size={12} />
    </div>
  )
}

/** Returns the numbers from 1 to `count`, a line each. */
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1).join('\n')

/** Lists errors. Those with a line have a button that selects it. */
function Problems({
  problems,
  onShow,
}: {
  problems: readonly RuleProblem[]
  onShow: (line: number) => void
}) {
  return (
    <>
      <p>{plural(problems.length, 'error')}; nothing was changed:</p>
      <ul className="alerts-problems">
        {problems.map(({ line, reason }, i) => (
          <li key={i}>
            {line && (
              <button type="button" className="alerts-problem-line" onClick={() => onShow(line)}>
                Line {line}
              </button>
            )}
            <span>{visible(reason, 400)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Indents a new line. Tab is not handled: it moves the focus, as in any other field. */
function onKeyDown(e: KeyboardEvent<HTMLTextAreaElement>) {
  if (e.key !== 'Enter' || e.nativeEvent.isComposing) return
  const area = e.currentTarget
  if (e.ctrlKey || e.metaKey) {
    e.preventDefault()
    area.form?.requestSubmit()
    return
  }
  const before = area.value.slice(0, area.selectionStart)
  const indent = nextIndent(before.slice(before.lastIndexOf('\n') + 1))
  // A text that is set by a script cannot be undone with Ctrl-Z; a text that is inserted can.
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is nothing else that keeps the undo history
  if (indent && document.execCommand('insertText', false, `\n${indent}`)) e.preventDefault()
}

function scrollToLine(area: HTMLTextAreaElement | null, line: number) {
  if (area)
    area.scrollTop = (line - 1) * parseFloat(getComputedStyle(area).lineHeight) - area.clientHeight / 3
}

/** Selects a line and scrolls it into view. */
function select(area: HTMLTextAreaElement | null, line: number) {
  if (!area) return
  const lines = area.value.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  area.focus({ preventScroll: true })
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0))
  scrollToLine(area, line)
  area.scrollLeft = 0
  area.closest('.alerts-code')?.scrollIntoView({ block: 'nearest' })
}
