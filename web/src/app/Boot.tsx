/** What stands there before anything is known: nothing that would flicker. */
export function Boot() {
  return (
    <div className="boot" role="status">
      <span className="sr-only">Loading</span>
    </div>
  )
}
