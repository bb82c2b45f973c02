// Tests every page in the light and the dark theme: the content loads, there are no serious accessibility violations,
// and the page fits the window. Takes a screenshot of each page.

import type { Page } from '@playwright/test'

import {
  clippedTables,
  expect,
  faults,
  FIRST,
  logIn,
  open,
  overflowWidth,
  PAGES,
  picture,
  test,
  waitForPage,
} from '../support.ts'

for (const scheme of ['light', 'dark'] as const) {
  test.describe(scheme, scheme === 'dark' ? { tag: '@full' } : {}, () => {
    // Reduced motion, so that nodes do not move in the screenshot of the graph.
    test.use({ colorScheme: scheme, contextOptions: { reducedMotion: 'reduce' } })
    for (const { name, path, heading, scoped, shows } of PAGES) {
      test(name, async ({ page }) => {
        await open(page, path, scoped ? FIRST.WorkspaceID : undefined)
        await waitForPage(page, heading)
        await expect(shows(page)).toBeVisible()
        expect.soft(await faults(page)).toEqual([])
        expect.soft(await overflowWidth(page)).toBeLessThanOrEqual(0)
        expect.soft(await clippedTables(page), 'tables that are wider than their place').toEqual([])
        await picture(page, `${name}-${scheme}`)
      })
    }
  })
}

test.describe('on a phone', { tag: '@full' }, () => {
  test.use({ viewport: { width: 360, height: 780 }, hasTouch: true })
  test('shows every page without horizontal scrolling and opens the navigation', async ({ page }) => {
    for (const { name, path, heading, scoped, shows } of PAGES) {
      await open(page, path, scoped ? FIRST.WorkspaceID : undefined)
      await waitForPage(page, heading)
      await expect(shows(page)).toBeVisible()
      expect.soft(await overflowWidth(page), name).toBeLessThanOrEqual(0)
      await picture(page, `${name}-phone`)
    }
    await page.getByRole('button', { name: 'Open the navigation' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'Keys', exact: true }).click()
    await waitForPage(page, 'Keys')
    expect.soft(await faults(page)).toEqual([])
  })
})

test.describe('with the keyboard only', () => {
  test.use({ storageState: { cookies: [], origins: [] } })

  test('logs in and creates a key', async ({ page }) => {
    await open(page, 'login')
    await expect(page.getByLabel('Name')).toBeFocused()
    expect.soft(await faults(page)).toEqual([])
    await page.keyboard.type(FIRST.AdminUser)
    await page.keyboard.press('Tab')
    await page.keyboard.type(FIRST.AdminPassword)
    await page.keyboard.press('Enter')
    await waitForPage(page, 'Overview')

    const tabTo = async (name: RegExp) => {
      for (let i = 0; i < 80; i++) {
        await page.keyboard.press('Tab')
        const at = await focused(page)
        expect(at.seen, `the focus is seen on ${at.name}`).toBe(true)
        if (name.test(at.name)) return
      }
      throw new Error(`Tab does not lead to ${name}`)
    }
    await page.keyboard.press('Tab')
    expect((await focused(page)).name).toContain('Skip to the page')
    await tabTo(/^Keys$/)
    await page.keyboard.press('Enter')
    // A new page takes the focus; Tab goes on from there.
    await expect(page.getByRole('heading', { level: 1, name: 'Keys' })).toBeFocused()
    await waitForPage(page, 'Keys')
    await tabTo(/^New key$/)
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await expect(dialog.getByLabel('Name')).toBeFocused()
    await page.keyboard.press('Escape')
    await expect(dialog).toHaveCount(0)
    await expect(page.getByRole('button', { name: 'New key' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(dialog.getByLabel('Name')).toBeFocused()
    await page.keyboard.type('by keyboard')
    await page.keyboard.press('Enter')
    await expect(dialog).toContainText('This is shown once')
    expect.soft(await faults(page)).toEqual([])
    await tabTo(/I have saved it/)
    await page.keyboard.press('Enter')
    await expect(dialog).toHaveCount(0)
  })
})

/** Returns the focused element and whether the focus is visible. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const at = document.activeElement as HTMLElement
    const style = getComputedStyle(at)
    const label = at.closest('label') ?? at
    const seen =
      (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) ||
      style.boxShadow !== 'none' ||
      [...label.querySelectorAll('*')].some((one) => getComputedStyle(one).outlineStyle !== 'none') ||
      at === document.body
    return { name: (at.getAttribute('aria-label') ?? at.innerText ?? '').trim(), seen }
  })

test.describe('first load', () => {
  test.use({ storageState: { cookies: [], origins: [] } })

  test('loads the login page and the overview in less than 400 kB', async ({ page }) => {
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    let bytes = 0
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
    await open(page, 'login')
    await expect(page.getByLabel('Name')).toBeFocused()
    const interactive = await page.evaluate(() => performance.now())
    const login = bytes
    await logIn(page, FIRST.AdminUser, FIRST.AdminPassword)
    const pressed = performance.now()
    await expect(page.getByText('Points accepted')).toBeVisible()
    const overview = performance.now() - pressed
    console.log(
      `first load: login page ${Math.round(login / 1000)} kB, interactive after ${Math.round(interactive)} ms; ` +
        `with the overview ${Math.round(bytes / 1000)} kB, shown ${Math.round(overview)} ms after the login was sent`,
    )
    expect(bytes).toBeLessThan(400_000)
    // A limit for busy machines; the printed times show the actual values.
    expect(interactive).toBeLessThan(60_000)
  })

  test('shows the login page without accessibility violations in both themes', async ({ browser }) => {
    for (const scheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ colorScheme: scheme, storageState: { cookies: [], origins: [] } })
      await open(page, 'login')
      await expect(page.getByLabel('Name')).toBeFocused()
      expect.soft(await faults(page)).toEqual([])
      await picture(page, `login-${scheme}`)
      await page.close()
    }
  })
})
