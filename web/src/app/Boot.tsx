/** The placeholder until the session is loaded. It does not flicker. */
export function Boot() {
  return (
    <div className="boot" role="status">
      <span className="sr-only">Loading</span>
    </div>
  )
}
