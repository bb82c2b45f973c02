/** Returns the path after the login, which is always a path of this application. Pure. */
export function safeNext(next: string | null): string {
  return next && /^\/(?![/\\])/.test(next) ? next : '/'
}
