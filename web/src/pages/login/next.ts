/** Where to go after the login: a path of this page and nothing else. Pure. */
export function safeNext(next: string | null): string {
  return next && /^\/(?![/\\])/.test(next) ? next : '/'
}
