// Tests that have a workspace of their own.

import { Admin } from './admin.ts'
import { type Tenant, test as base } from './support.ts'

/** Returns a test whose workspace is filled before it and deleted after it. The argument is the title of the test. */
export const withTenant = (name: (title: string) => string, fill?: (of: Tenant) => Promise<void>) =>
  base.extend<{ tenant: Tenant }>({
    tenant: async ({ page }, use, info) => {
      const admin = await Admin.withSession(page.request)
      const tenant = await admin.tenant(name(info.title.slice(0, 60)), 'live')
      await fill?.(tenant)
      await use(tenant)
      await admin.delete(`/workspaces/${tenant.workspace}`)
    },
  })
