import './sources.css'

import { Route, Routes } from 'react-router'

import { Explorer } from './Explorer'
import { SourceList } from './SourceList'
import { SourceView } from './SourceView'

/** The pages of sources: the list, one source, and the data explorer. */
export default function SourcesPage() {
  return (
    <Routes>
      <Route index element={<SourceList />} />
      <Route path="explore" element={<Explorer />} />
      <Route path=":id" element={<SourceView />} />
    </Routes>
  )
}
