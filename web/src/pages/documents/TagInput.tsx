import { X } from 'lucide-react'
import { useState } from 'react'

import { MAX_TAG_LENGTH } from '@/api'
import { Input, visible } from '@/ui'

import { tagsOf } from './address'

/** An input for tags, for a Field. Enter, a comma or leaving the input adds the typed tag; Backspace removes the last. */
export function TagInput({
  value,
  placeholder,
  disabled,
  onChange,
}: {
  value: readonly string[]
  placeholder?: string
  disabled?: boolean
  onChange: (tags: readonly string[]) => void
}) {
  const [typed, setTyped] = useState('')
  const add = (text: string) => {
    setTyped('')
    const next = tagsOf([...value, ...text.split(',').map((tag) => tag.trim())])
    if (next.length !== value.length) onChange(next)
  }
  return (
    <div className="documents-tagbox">
      {value.map((tag) => (
        <span key={tag} className="documents-tag">
          <bdi className="name">{visible(tag, 60)}</bdi>
          <button
            type="button"
            disabled={disabled}
            aria-label={`Remove the tag ${visible(tag, 60)}`}
            onClick={() => onChange(value.filter((item) => item !== tag))}
          >
            <X size={12} />
          </button>
        </span>
      ))}
      <Input
        value={typed}
        maxLength={MAX_TAG_LENGTH}
        placeholder={value.length === 0 ? placeholder : undefined}
        spellCheck={false}
        disabled={disabled}
        onChange={(e) => {
          if (e.target.value.includes(',')) add(e.target.value)
          else setTyped(e.target.value)
        }}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && typed.trim() !== '') {
            e.preventDefault()
            add(typed)
          } else if (e.key === 'Backspace' && typed === '' && value.length > 0) onChange(value.slice(0, -1))
        }}
        onBlur={() => add(typed)}
      />
    </div>
  )
}
