import './ui/tokens.css'
import './ui/base.css'
import './ui/controls.css'
import './ui/layout.css'
import './ui/content.css'
import './app/shell.css'

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { App } from './app/App'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
