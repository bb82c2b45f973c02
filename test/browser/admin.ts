// Sends requests to the admin API as an operator. Creates workspaces and keys for the specs.

import type { APIRequestContext } from '@playwright/test'

import { FIRST, type Tenant } from './support.ts'

export class Admin {
  private constructor(
    private readonly browser: APIRequestContext,
    private readonly csrfToken: string,
  ) {}

  /** Logs in. The browser context then has the session's cookie. */
  static async logIn(browser: APIRequestContext): Promise<Admin> {
    const data = { name: FIRST.AdminUser, password: FIRST.AdminPassword }
    return Admin.of(browser, await browser.post('/admin/api/session', { data }))
  }

  /** Uses the session of the browser context. */
  static async withSession(browser: APIRequestContext): Promise<Admin> {
    return Admin.of(browser, await browser.get('/admin/api/session'))
  }

  private static async of(browser: APIRequestContext, answer: Awaited<ReturnType<APIRequestContext['get']>>): Promise<Admin> {
    if (!answer.ok()) throw new Error(`session: ${answer.status()} ${await answer.text()}`)
    return new Admin(browser, ((await answer.json()) as { data: { csrfToken: string } }).data.csrfToken)
  }

  async post<T>(path: string, data: unknown): Promise<T> {
    const answer = await this.browser.post(`/admin/api${path}`, { data, headers: { 'X-CSRF-Token': this.csrfToken } })
    if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`)
    return ((await answer.json()) as { data: T }).data
  }

  async delete(path: string): Promise<void> {
    const answer = await this.browser.delete(`/admin/api${path}`, { headers: { 'X-CSRF-Token': this.csrfToken } })
    if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`)
  }

  async workspace(name: string, mode: 'live' | 'test'): Promise<string> {
    return (await this.post<{ id: string }>('/workspaces', { name, mode, plan: 'enterprise' })).id
  }

  async tenant(name: string, mode: 'live' | 'test'): Promise<Tenant> {
    const workspace = await this.workspace(name, mode)
    const { key } = await this.post<{ key: string }>('/keys', {
      name: `${name} admin`,
      workspaces: [workspace],
      scopes: ['admin'],
    })
    return { workspace, key }
  }
}
