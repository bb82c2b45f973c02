import type { Locator, Page } from '@playwright/test'

import { open, type Tenant } from './support.ts'

/** A text of several passages. */
export const HANDBOOK = `# Pump handbook

Pump 7 moves water from the cellar to Hall 3. It starts when the level in the sump reaches 80 cm and stops at 20 cm.

## Daily inspection

Look at the pump once in each shift, and write the result into the shift report. Listen first: a pump that runs well
hums evenly. A rattle points to a loose coupling, a whistle to air in the suction line, and a deep growl to a worn
bearing. Then feel the housing of the motor. It may be warm, but a hand must be able to rest on it for ten seconds. Look
for water below the shaft seal. A drop in a minute is normal, because it cools the seal. A thin stream is not: order a
seal and reduce the speed until it is replaced. Compare the pressure behind the pump with the value of the day before.
If it has dropped by more than half a bar while the speed is the same, clean the strainer. Check that the float switch
moves freely, and that no cable lies in the water. At last, drain the condensate from the air line and close the valve.

## Bearings

The bearings are greased every 2,000 hours with lithium grease of class 2, at most 15 grams for each bearing. Too much
grease is worse than too little, because the balls slide instead of rolling and the bearing runs hot. Remove the plug at
the bottom before you grease, so that the old grease can leave. Let the pump run for half an hour and close the plug
again. A bearing that runs hotter than 80 degrees must not run until the next shift: switch to Pump 8, and call the
maintenance. Measure vibration once a month with the sensor at the drive end. Up to 2.8 mm/s is good, up to 4.5 mm/s is
acceptable for a week, and above that the pump must stop. Write the values into the table below the diagram. They show
wear weeks before anybody can hear it, and the order of a bearing takes ten days.

## Spare parts

Two shaft seals, two bearings of each side, a coupling spider and a set of gaskets are in rack 4 of the store. Whoever
takes the last part of a kind orders two. A float switch is in the electrical store, because it is shared with the
pumps of the north wing. The impeller is not in stock. It is made of bronze, and its delivery takes six weeks, so order
it when the gap to the wear ring is larger than a millimetre. The supplier sends drawings with each part. Give them to
the office, which scans them, so that the search finds them by the number of the part.
`

/** A file for an input of files. */
export const file = (name: string, content: string | Buffer) => ({
  name,
  mimeType: '', // of no importance
  buffer: Buffer.from(content),
})
export type UploadedFile = ReturnType<typeof file>
export const MARKDOWN = file('pumps.md', HANDBOOK)
export const NOTE = file('note.txt', 'The machine in the cellar is loud.')

export const uploadDialog = (page: Page) => page.getByRole('dialog', { name: 'Upload documents' })
export const documents = (page: Page) => page.getByRole('table', { name: 'Documents' })

/** Opens the page with the dialog for uploads, and chooses files. */
export async function choose(page: Page, of: Tenant, files: UploadedFile[]): Promise<Locator> {
  await open(page, 'documents?upload=1', of.workspace)
  const dialog = uploadDialog(page)
  await dialog.getByLabel('Files', { exact: true }).and(page.locator('input')).setInputFiles(files)
  return dialog
}
