/** Verifies the requests that webhooks send. It needs no client and no service. */

/** A request was not sent by a webhook with this secret, or too long ago. Answer it with 401. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError'
}

/** An event that was received. */
export interface WebhookEvent {
  /** The same for all attempts to send the event. Ignore ids that were processed. */
  id: string
  /** The type, such as `alert.firing`. */
  type: string
  /** When the event occurred, in RFC 3339. */
  timestamp: string
  workspaceId: string
  /** The fields of events of this type, as docs/webhooks.md lists them. */
  data: Record<string, unknown>
}

/** How a request of a webhook is verified. */
export interface VerifyOptions {
  /** The seconds that the time of the request may differ from now: 300. */
  toleranceSeconds?: number
  /** The milliseconds since 1970 that are compared with the time of the request: Date.now(). */
  now?: number
}

/** The headers of a request: those of fetch, of Node.js, or of a framework. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

const prefix = 'whsec_'

/**
 * Returns the event in a request after it has checked the signature.
 *
 * @param secret the secret of the webhook, or several, of which one must match
 * @param headers the headers of the request, with names in any case
 * @param body the body as it was received, before any decoding
 * @throws SignatureError if no signature matches, or the time of the request differs too much
 * @throws TypeError if a secret is not one of a webhook
 */
export async function verifyWebhook(
  secret: string | readonly string[],
  headers: ReceivedHeaders,
  body: string | Uint8Array,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const [id, sent, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    header(headers, `webhook-${name}`),
  )
  if (!id || !sent || !signatures) throw new SignatureError('the request has no signature')
  if (!/^[0-9]+$/.test(sent)) throw new SignatureError('the time of the request is not a number')
  if (Math.abs(now / 1000 - Number(sent)) > toleranceSeconds) {
    throw new SignatureError('the request was sent too long ago, or in the future')
  }
  const encoder = new TextEncoder()
  const bytes = typeof body === 'string' ? encoder.encode(body) : body
  const signed = new Uint8Array(
    await new Blob([encoder.encode(`${id}.${sent}.`), bytes as BlobPart]).arrayBuffer(),
  )
  const given = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? [each.slice(3)] : []))
  let matches = false
  for (const each of typeof secret === 'string' ? [secret] : secret) {
    const key = await crypto.subtle.importKey('raw', keyOf(each), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ])
    for (const signature of given) {
      const decoded = decode(signature)
      if (decoded && (await crypto.subtle.verify('HMAC', key, decoded, signed))) matches = true
    }
  }
  if (!matches) throw new SignatureError('the signature is wrong')
  return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent
}

function header(headers: ReceivedHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1]
  return typeof found === 'object' ? found.join(' ') : found
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = secret.startsWith(prefix) ? decode(secret.slice(prefix.length)) : undefined
  if (!key?.length) {
    throw new TypeError(`the secret of a webhook begins with ${prefix}, and the rest is base64`)
  }
  return key
}

/** Returns the bytes of a text in base64, or undefined if it is another text. */
function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
