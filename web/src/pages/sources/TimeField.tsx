import { Field, Input, useEditableValue } from '@/ui'

import { browserZone, instantOf, wallOf } from './zones'

/** An input for a time in the zone of the browser. The value is in RFC 3339. It applies on blur and Enter. */
export function TimeField({
  label,
  value,
  error,
  className,
  onChange,
}: {
  label: string
  value: string
  error?: string | undefined
  className: string
  onChange: (at: string) => void
}) {
  const zone = browserZone()
  const shown = value ? wallOf(Date.parse(value), zone) : ''
  const [typed, setTyped] = useEditableValue(shown)
  const apply = () => {
    const at = instantOf(typed, zone)
    if (typed === '') onChange('')
    else if (at !== undefined) onChange(new Date(at).toISOString())
  }
  return (
    <Field label={label} className={className} error={error}>
      <Input
        type="datetime-local"
        value={typed}
        onChange={(e) => setTyped(e.target.value)}
        onBlur={() => typed !== shown && apply()}
        onKeyDown={(e) => e.key === 'Enter' && apply()}
        title={`Time of ${zone}`}
      />
    </Field>
  )
}
