import { Plus, X } from 'lucide-react'
import { useId, useMemo, useState } from 'react'

import {
  Button,
  Field,
  Group,
  IconButton,
  Input,
  Panel,
  plural,
  Segmented,
  Select,
  useEditableValue,
  visible,
} from '@/ui'

import { type Answer, useSeries } from './data'
import { MetricPicker, SourcePicker } from './Pickers'
import {
  type Aggregation,
  AGGREGATIONS,
  CHART_POINTS,
  type Explore,
  type Mode,
  MAX_POINTS,
  type problemsOf,
} from './query'
import { allZones } from './zones'

interface BuilderProps {
  explore: Explore
  problems: ReturnType<typeof problemsOf>
  answer: Answer | undefined
  onChange: (next: Partial<Explore>) => void
}

/** The query builder, except for the time range. */
export function Builder({ explore, problems, answer, onChange }: BuilderProps) {
  // The choices come from the first 100 series of the selected sources.
  const series = useSeries(explore.sourceIds, 0, 100)
  const known = series.data?.data ?? []
  const metrics = [...new Set(known.map((item) => item.metric))].sort()
  const keys = [...new Set(known.flatMap((item) => Object.keys(item.tags)))].sort()
  return (
    <>
      <Panel title="Which series" note={answer && plural(answer.meta.total, 'matches', 'match')}>
        <div className="stack">
          <SourcePicker chosen={explore.sourceIds} onChange={(sourceIds) => onChange({ sourceIds })} />
          <MetricPicker
            chosen={explore.metrics}
            known={metrics}
            partial={Boolean(series.data?.meta.hasMore)}
            onChange={(next) => onChange({ metrics: next })}
          />
          <TagPicker
            tags={explore.tags}
            keys={keys}
            valuesOf={(key) =>
              [...new Set(known.map((item) => item.tags[key]).filter((v) => v !== undefined))].sort()
            }
            onChange={(tags) => onChange({ tags })}
          />
        </div>
      </Panel>
      <Panel title="Which points">
        <div className="stack">
          <Points explore={explore} problems={problems} keys={keys} onChange={onChange} />
          <ZoneChoice zone={explore.zone} onChange={(zone) => onChange({ zone })} />
        </div>
      </Panel>
    </>
  )
}

const MODES: readonly { value: Mode; label: string; title: string }[] = [
  { value: 'aggregated', label: 'Aggregated', title: 'A value for each interval' },
  { value: 'thinned', label: 'Downsampled', title: 'Points that keep the shape of the line (LTTB)' },
  { value: 'raw', label: 'Raw', title: 'Raw points' },
  { value: 'latest', label: 'Latest', title: 'The latest point of each series' },
]

const MODE_DESCRIPTIONS: Record<Mode, string> = {
  aggregated: 'One value for each interval and aggregation.',
  thinned: 'Points that keep the shape of each line (largest triangle three buckets).',
  raw: 'The raw points. For long ranges the others are faster.',
  latest: 'The latest point of each series, of any age.',
}

function Points({ explore: e, problems, keys, onChange }: Omit<BuilderProps, 'answer'> & { keys: string[] }) {
  const limited = e.mode === 'thinned' || (e.mode === 'aggregated' && e.interval === 'auto')
  return (
    <>
      <div className="stack sources-tight">
        <Segmented label="Points" value={e.mode} onChange={(mode) => onChange({ mode })} options={MODES} />
        <p className="field-hint">{MODE_DESCRIPTIONS[e.mode]}</p>
      </div>
      {e.mode === 'aggregated' && (
        <Aggregated explore={e} problems={problems} keys={keys} onChange={onChange} />
      )}
      {limited && (
        <CommitInput
          label={e.mode === 'thinned' ? 'Points per series' : 'Maximum intervals'}
          hint={`At most; from 2 to ${MAX_POINTS.toLocaleString('en-GB')}.`}
          error={problems.maxPoints}
          value={String(e.maxPoints || CHART_POINTS)}
          inputMode="numeric"
          onChange={(text) =>
            onChange({
              maxPoints: /^\d{1,9}$/.test(text) && Number(text) !== CHART_POINTS ? Number(text) : 0,
            })
          }
        />
      )}
    </>
  )
}

const INTERVALS = ['auto', '1s', '10s', '1m', '5m', '15m', '1h', '6h', '1d', '7d']
const FILLS = [
  { value: 'null', label: 'Leave a gap' },
  { value: 'none', label: 'Connect the line' },
  { value: 'previous', label: 'Previous value' },
  { value: 'linear', label: 'Linear interpolation' },
  { value: '0', label: 'Zero' },
]

function Aggregated({
  explore: e,
  problems,
  keys,
  onChange,
}: Omit<BuilderProps, 'answer'> & { keys: string[] }) {
  const [custom, setCustom] = useState(!INTERVALS.includes(e.interval))
  const fills = FILLS.some((fill) => fill.value === e.fill)
    ? FILLS
    : [...FILLS, { value: e.fill, label: visible(e.fill, 20) }]
  return (
    <>
      <Aggregations
        chosen={e.aggregations}
        error={problems.aggregations}
        onChange={(aggregations) => onChange({ aggregations })}
      />
      <Field label="Interval" error={custom ? undefined : problems.interval}>
        <Select
          value={custom ? 'own' : e.interval}
          onChange={(event) => {
            setCustom(event.target.value === 'own')
            if (event.target.value !== 'own') onChange({ interval: event.target.value })
          }}
        >
          {INTERVALS.map((item) => (
            <option key={item} value={item}>
              {item === 'auto' ? 'Automatic' : item}
            </option>
          ))}
          <option value="own">Another…</option>
        </Select>
      </Field>
      {custom && (
        <CommitInput
          label="Interval length"
          hint="A whole number with s, m, h or d: 1s to 30d."
          error={problems.interval}
          value={e.interval}
          onChange={(interval) => onChange({ interval })}
        />
      )}
      <Field label="Intervals without points" error={problems.fill}>
        <Select value={e.fill} onChange={(event) => onChange({ fill: event.target.value })} options={fills} />
      </Field>
      <Grouping chosen={e.groupBy} keys={keys} onChange={(groupBy) => onChange({ groupBy })} />
    </>
  )
}

function Aggregations({
  chosen,
  error,
  onChange,
}: {
  chosen: Aggregation[]
  error: string | undefined
  onChange: (next: Aggregation[]) => void
}) {
  const toggle = (item: Aggregation) =>
    onChange(AGGREGATIONS.filter((name) => (name === item ? !chosen.includes(name) : chosen.includes(name))))
  return (
    <Group label="Aggregations" error={error}>
      <div className="sources-chips">
        {AGGREGATIONS.map((item) => (
          <button
            key={item}
            type="button"
            className="sources-chip"
            aria-pressed={chosen.includes(item)}
            onClick={() => toggle(item)}
          >
            {item}
          </button>
        ))}
      </div>
    </Group>
  )
}

function Grouping({
  chosen,
  keys,
  onChange,
}: {
  chosen: string[]
  keys: string[]
  onChange: (next: string[]) => void
}) {
  const fields = [
    ...new Set([
      'sourceId',
      'metric',
      ...keys.slice(0, 12).map((key) => `tag.${key}`),
      ...chosen.filter((item) => item !== 'none'),
    ]),
  ]
  const together = chosen.includes('none')
  const toggle = (item: string) => {
    const now = chosen.filter((name) => name !== 'none')
    onChange(now.includes(item) ? now.filter((name) => name !== item) : [...now, item])
  }
  return (
    <Group label="Aggregation">
      <div className="sources-chips">
        <button
          type="button"
          className="sources-chip"
          aria-pressed={chosen.length === 0}
          onClick={() => onChange([])}
        >
          each series
        </button>
        {fields.map((item) => (
          <button
            key={item}
            type="button"
            className="sources-chip"
            aria-pressed={chosen.includes(item)}
            onClick={() => toggle(item)}
          >
            {item === 'sourceId' ? 'source' : visible(item, 40)}
          </button>
        ))}
        <button
          type="button"
          className="sources-chip"
          aria-pressed={together}
          onClick={() => onChange(together ? [] : ['none'])}
        >
          all series together
        </button>
      </div>
    </Group>
  )
}

interface TagPickerProps {
  tags: Explore['tags']
  keys: string[]
  valuesOf: (key: string) => string[]
  onChange: (tags: Explore['tags']) => void
}

function TagPicker({ tags, keys, valuesOf, onChange }: TagPickerProps) {
  const id = useId()
  const [key, setKey] = useState('')
  const [value, setValue] = useState('')
  const add = () => {
    if (key === '' || value === '') return
    onChange([...tags.filter(([k, v]) => k !== key || v !== value), [key, value]])
    setKey('')
    setValue('')
  }
  return (
    <Group label="Tags">
      {tags.length > 0 && (
        <ul className="sources-chosen">
          {tags.map(([k, v], i) => (
            <li key={`${k}=${v}`}>
              <span title={visible(`${k}=${v}`, 300)}>{visible(`${k}=${v}`, 60)}</span>
              <IconButton
                size="s"
                label={`Without ${visible(`${k}=${v}`, 60)}`}
                onClick={() => onChange(tags.filter((_, at) => at !== i))}
              >
                <X size={12} />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <form
        className="sources-add"
        onSubmit={(e) => {
          e.preventDefault()
          add()
        }}
      >
        <Input
          aria-label="Key of a tag"
          placeholder="key"
          list={`${id}-keys`}
          value={key}
          onChange={(e) => setKey(e.target.value)}
          spellCheck={false}
        />
        <Input
          aria-label="Value of the tag"
          placeholder="value"
          list={`${id}-values`}
          value={value}
          onChange={(e) => setValue(e.target.value)}
          spellCheck={false}
        />
        <Button
          type="submit"
          className="btn-icon"
          aria-label="Add the tag"
          disabled={key === '' || value === ''}
        >
          <Plus size={14} />
        </Button>
        <datalist id={`${id}-keys`}>
          {keys.slice(0, 200).map((item) => (
            <option key={item} value={item} />
          ))}
        </datalist>
        <datalist id={`${id}-values`}>
          {valuesOf(key)
            .slice(0, 200)
            .map((item) => (
              <option key={item} value={item} />
            ))}
        </datalist>
      </form>
    </Group>
  )
}

function ZoneChoice({ zone, onChange }: { zone: string; onChange: (zone: string) => void }) {
  const zones = useMemo(() => allZones(), [])
  return (
    <Field label="Time zone" hint="For displayed times and for the start of a day.">
      <Select
        value={zone}
        onChange={(e) => onChange(e.target.value)}
        options={zones.includes(zone) ? zones : [zone, ...zones]}
      />
    </Field>
  )
}

interface CommitInputProps {
  label: string
  hint: string
  error: string | undefined
  value: string
  inputMode?: 'numeric'
  onChange: (value: string) => void
}

/** A text input that applies on blur or Enter. */
function CommitInput({ label, hint, error, value, inputMode, onChange }: CommitInputProps) {
  const [typed, setTyped] = useEditableValue(value)
  const commit = () => typed !== value && onChange(typed.trim())
  return (
    <Field label={label} hint={hint} error={error}>
      <Input
        value={typed}
        inputMode={inputMode}
        spellCheck={false}
        onChange={(e) => setTyped(e.target.value)}
        onBlur={commit}
        onKeyDown={(e) => e.key === 'Enter' && commit()}
      />
    </Field>
  )
}
