// The worker of the layout. A step of 1,000 nodes takes some milliseconds, which would block the page.

import { LayoutHost } from './host'
import type { FromLayout, ToLayout } from './protocol'

interface Thread {
  postMessage: (message: FromLayout, transfer: Transferable[]) => void
  addEventListener: (type: 'message', listener: (event: MessageEvent<ToLayout>) => void) => void
}

const thread = self as unknown as Thread

const host = new LayoutHost(
  (message) => thread.postMessage(message, [message.xy.buffer]),
  (call) => void setTimeout(call),
)

thread.addEventListener('message', (event) => host.onMessage(event.data))
