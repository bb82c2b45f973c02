import { Download } from 'lucide-react'
import { useState } from 'react'

import { useWorkspace } from '@/app/workspace'
import { Button, Empty, Name, Pager, plural, Table, useToast, visible, type Column } from '@/ui'

import { type Answer, askCSV, saveFile } from './data'
import { type TableRow, tablePage } from './lines'
import type { Pair } from './query'
import type { Cell } from './shapes'
import { timeText } from './zones'

const ROWS = 100

/** The points of the response, one per row, with a download of all of them as a file. */
export function PointTable({
  answer,
  zone,
  pairs,
}: {
  answer: Answer
  zone: string
  pairs: readonly Pair[] | null
}) {
  const [offset, setOffset] = useState(0)
  const total = answer.data.reduce((sum, row) => sum + row.points.length, 0)
  const from = offset < total ? offset : 0
  const rows = tablePage(answer.data, from, ROWS)
  if (total === 0) {
    return (
      <Empty title="No points">
        <p>Select a longer range or other series.</p>
      </Empty>
    )
  }
  return (
    <div className="stack sources-table">
      <div className="row spread">
        <span className="muted">Times of {zone}. Newest points of each series first.</span>
        <SaveCSV pairs={pairs} />
      </div>
      <Table label="Points" columns={columnsOf(answer, zone)} rows={rows} rowKey={(row) => row.key} />
      <Pager
        meta={{ total, limit: ROWS, offset: from, hasMore: from + ROWS < total }}
        onOffset={setOffset}
        what="points"
      />
    </div>
  )
}

function columnsOf(answer: Answer, zone: string): Column<TableRow>[] {
  const names = answer.data[0]?.columns.slice(1) ?? []
  return [
    {
      id: 'time',
      head: 'Time',
      primary: true,
      narrow: true,
      cell: (row) => (
        <time dateTime={new Date(row.time / 1000).toISOString()}>{timeText(row.time, zone)}</time>
      ),
    },
    { id: 'series', head: 'Series', cell: (row) => <Name text={row.series} /> },
    ...names.map((name, i): Column<TableRow> => ({
      id: name,
      head: visible(name, 40),
      numeric: true,
      narrow: true,
      cell: (row) => <Value value={row.values[i]} />,
    })),
    {
      id: 'unit',
      head: 'Unit',
      narrow: true,
      wide: true,
      cell: (row) => <Name text={row.row.unit} max={24} />,
    },
  ]
}

/** A rounded value. The file and the tooltip have all digits. */
function Value({ value }: { value: Cell | undefined }) {
  if (value == null) return <span className="muted">–</span>
  if (typeof value === 'string') return <Name text={value} max={200} />
  const shown = Number.isInteger(value) ? value : Number(value.toPrecision(9))
  return <span title={shown === value ? undefined : String(value)}>{String(shown).replace('-', '−')}</span>
}

function SaveCSV({ pairs }: { pairs: readonly Pair[] | null }) {
  const workspace = useWorkspace()
  const toast = useToast()
  const [busy, setBusy] = useState(false)
  const save = async () => {
    if (!pairs) return
    setBusy(true)
    try {
      const { blob, more } = await askCSV(workspace.id, pairs)
      saveFile(blob, `livegraph-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.csv`)
      if (more)
        toast.info(
          'The file is incomplete',
          'There are more points than one response contains: refine the query, or follow the Link header with the API.',
        )
      else toast.ok('CSV saved', plural(blob.size, 'byte'))
    } catch (error) {
      toast.failed(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button size="s" icon={<Download size={14} />} busy={busy} disabled={!pairs} onClick={() => void save()}>
      Download CSV
    </Button>
  )
}
