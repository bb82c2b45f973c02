// The layout's thread: 1,000 nodes take some milliseconds a step, which the page would feel.

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

thread.addEventListener('message', (event) => host.take(event.data))
