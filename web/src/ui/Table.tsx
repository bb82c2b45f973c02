import { ArrowDown, ArrowUp } from 'lucide-react'
import { useRef, type KeyboardEvent, type ReactNode } from 'react'

import { cx } from './format'
import { Loading, Skeleton } from './Notice'

export interface Column<Row> {
  /** The id of the column, and of the field to sort by. */
  id: string
  head: ReactNode
  cell: (row: Row) => ReactNode
  /** A number column, aligned right. */
  numeric?: boolean
  /** As narrow as its contents. */
  narrow?: boolean
  sortable?: boolean
  /** The name of the row: the heading of the card on a phone. */
  primary?: boolean
  /** Hidden on a phone. */
  wide?: boolean
  /** The accessible name of the heading, if it is an icon or empty. */
  label?: string
}

export interface TableProps<Row> {
  /** The accessible name. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[] | undefined
  rowKey: (row: Row) => string
  /** Called when a row is opened by a press, Enter or Space. */
  onOpen?: (row: Row) => void
  /** The key of the open row. */
  selected?: string | null
  /** The sort parameter of the API: `name`, or `-name` for descending. */
  sort?: string
  onSort?: (sort: string) => void
  /** Shown if there are no rows. */
  empty?: ReactNode
  /** The rows belong to the previous filter: they are dimmed and cannot be opened until the next ones are loaded. */
  stale?: boolean
  /** The number of placeholder rows while loading. */
  loading?: boolean
  skeletonRows?: number
}

/** A table; on a phone, cards. Arrow keys, Home and End move between rows that can be opened. */
export function Table<Row>(props: TableProps<Row>) {
  const {
    label,
    columns,
    rows,
    rowKey,
    onOpen,
    selected,
    sort,
    onSort,
    empty,
    stale,
    loading,
    skeletonRows = 6,
  } = props
  const body = useRef<HTMLTableSectionElement>(null)
  if (!loading && !stale && rows?.length === 0 && empty) return <>{empty}</>
  return (
    // A table that scrolls sideways must be focusable: by its rows if they can be opened, otherwise as a whole.
    <div className="table-box" {...(onOpen ? {} : { role: 'group', 'aria-label': label, tabIndex: 0 })}>
      {loading && !rows && <Loading />}
      <table className="table" aria-label={label} aria-busy={loading || stale || undefined}>
        <thead>
          <tr>
            {columns.map((c) => (
              <Head key={c.id} column={c} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        {/* Each row is reached by Tab or an arrow key; the body only moves the focus between them. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
        <tbody
          ref={body}
          inert={stale}
          className={cx(stale && 'table-stale')}
          onKeyDown={(e) => moveBetweenRows(e, body.current)}
        >
          {rows?.map((row, i) => {
            const key = rowKey(row)
            return (
              <tr
                key={key}
                className={cx(onOpen && 'table-open')}
                aria-selected={selected === undefined ? undefined : selected === key}
                tabIndex={onOpen ? (i === 0 || selected === key ? 0 : -1) : undefined}
                onClick={
                  onOpen && ((e) => !fromControl(e.target, e.currentTarget) && !selecting() && onOpen(row))
                }
                onKeyDown={
                  onOpen &&
                  ((e) => {
                    if (e.target !== e.currentTarget || (e.key !== 'Enter' && e.key !== ' ')) return
                    e.preventDefault()
                    onOpen(row)
                  })
                }
              >
                {columns.map((c) => (
                  <Cell key={c.id} column={c}>
                    {c.cell(row)}
                  </Cell>
                ))}
              </tr>
            )
          })}
          {loading &&
            !rows &&
            Array.from({ length: skeletonRows }, (_, i) => (
              <tr key={i}>
                {columns.map((c) => (
                  <td key={c.id} className={cx(c.wide && 'table-wide')}>
                    <Skeleton width={c.narrow ? 40 : '70%'} />
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}

function Cell<Row>({ column: c, children }: { column: Column<Row>; children: ReactNode }) {
  const name = c.label ?? (typeof c.head === 'string' ? c.head : '')
  return (
    <td
      className={cx(
        c.numeric && 'table-num',
        c.narrow && 'table-narrow',
        c.primary && 'table-primary',
        c.wide && 'table-wide',
      )}
      data-label={name || undefined}
    >
      {children}
    </td>
  )
}

function Head<Row>({
  column: c,
  sort,
  onSort,
}: {
  column: Column<Row>
  sort: string | undefined
  onSort: ((sort: string) => void) | undefined
}) {
  const up = sort === c.id
  const down = sort === `-${c.id}`
  const sortable = c.sortable && onSort
  return (
    <th
      scope="col"
      className={cx(c.numeric && 'table-num', c.narrow && 'table-narrow', c.wide && 'table-wide')}
      aria-sort={up ? 'ascending' : down ? 'descending' : undefined}
    >
      {sortable ? (
        <button type="button" className="table-sort" onClick={() => onSort(up ? `-${c.id}` : c.id)}>
          {c.head}
          {up && <ArrowUp size={12} aria-hidden="true" />}
          {down && <ArrowDown size={12} aria-hidden="true" />}
        </button>
      ) : (
        (c.head ?? <span className="sr-only">{c.label}</span>)
      )}
      {!sortable && c.label && c.head === '' && <span className="sr-only">{c.label}</span>}
    </th>
  )
}

/** Reports whether a press was on a button or link within the row. */
function fromControl(target: EventTarget, row: Element): boolean {
  const control =
    target instanceof Element &&
    target.closest('a, button, input, select, label, [role=menuitem], [role=dialog]')
  return Boolean(control) && control !== row
}

/** Reports whether text is being selected. */
const selecting = () => (window.getSelection()?.toString() ?? '') !== ''

function moveBetweenRows(e: KeyboardEvent, body: HTMLElement | null): void {
  if (!body || !(e.target instanceof HTMLTableRowElement)) return
  const rows = [...body.querySelectorAll<HTMLTableRowElement>(':scope > tr[tabindex]')]
  const at = rows.indexOf(e.target)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[e.key]
  if (to === undefined) return
  e.preventDefault()
  rows[Math.min(Math.max(to, 0), rows.length - 1)]?.focus()
}
