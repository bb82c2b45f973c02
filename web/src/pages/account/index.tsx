import { Page } from '@/ui'

import { Appearance } from './Appearance'
import { Operators } from './Operators'
import { Password } from './Password'

export default function AccountPage() {
  return (
    <Page title="Account" lead="Operators who can log in, and your own settings.">
      <div className="grid-2">
        <Password />
        <Appearance />
      </div>
      <Operators />
    </Page>
  )
}
