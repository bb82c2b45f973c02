import { Page } from '@/ui'

import { Appearance } from './Appearance'
import { Operators } from './Operators'
import { Password } from './Password'

export default function AccountPage() {
  return (
    <Page title="Account" lead="Who may log in here, and how this page looks to you.">
      <div className="grid-2">
        <Password />
        <Appearance />
      </div>
      <Operators />
    </Page>
  )
}
