import { LogOut } from 'lucide-react'

import { useLogout, useSession } from '@/app/session'
import { Button, Copyable, Facts, Name, Panel, Segmented, Time } from '@/ui'
import { chooseTheme, useTheme } from '@/ui/scheme'

/** The session and the theme. The theme is the only setting that is stored in the browser. */
export function Appearance() {
  const theme = useTheme()
  const { data: session } = useSession()
  const logout = useLogout()
  return (
    <Panel
      title="You"
      actions={
        <Button size="s" icon={<LogOut size={14} />} busy={logout.isPending} onClick={() => logout.mutate()}>
          Log out
        </Button>
      }
    >
      <div className="stack">
        <Facts
          items={[
            ['Name', <Name key="n" text={session?.operator.name} strong />],
            ['Id', session && <Copyable key="i" text={session.operator.id} label="Copy your id" />],
            ['Session ends', <Time key="e" at={session?.expiresAt} absolute />],
          ]}
        />
        <div className="field">
          <span className="field-label">Theme</span>
          <Segmented
            label="Theme"
            value={theme}
            onChange={chooseTheme}
            options={[
              { value: 'system', label: 'System' },
              { value: 'light', label: 'Light' },
              { value: 'dark', label: 'Dark' },
            ]}
          />
          <span className="field-hint">Stored in this browser only.</span>
        </div>
      </div>
    </Panel>
  )
}
