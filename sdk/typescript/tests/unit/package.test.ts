// The files of the package.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { version } from '../../src/index.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const project = join(root, '..', '..')
const read = (...path: string[]): string => readFileSync(join(...path), 'utf8')

test('the types are those of the contract', () => {
  const run = (): string =>
    execFileSync('npm', ['run', '--silent', 'types', '--', '--check'], { cwd: root, encoding: 'utf8' })
  expect(run, 'run make sdk-generate').not.toThrow()
})

test('the version is that of the project', () => {
  const found = JSON.parse(read(root, 'package.json')) as { version: string }
  const lock = JSON.parse(read(root, 'package-lock.json')) as { version: string }
  expect([version, found.version, lock.version]).toEqual(Array(3).fill(read(project, 'VERSION').trim()))
})

test('the licence is that of the project', () => {
  expect(read(root, 'LICENSE')).toBe(read(project, 'LICENSE'))
})

test('the package has only an optional dependency, and the lock file names no registry', () => {
  const found = JSON.parse(read(root, 'package.json')) as Record<string, unknown>
  expect(found).not.toHaveProperty('dependencies')
  expect(Object.keys(found.peerDependencies as object)).toEqual(['apache-arrow'])
  expect(found.peerDependenciesMeta).toEqual({ 'apache-arrow': { optional: true } })
  expect(read(root, 'package-lock.json')).not.toContain('"resolved"')
})

test('the code imports only its own files, and that of livegraph/arrow the library, too', () => {
  for (const name of readdirSync(join(root, 'src'))) {
    for (const [, from] of read(root, 'src', name).matchAll(/ from '([^']*)'/g)) {
      if (name === 'arrow.ts' && from === 'apache-arrow') continue
      expect(from).toMatch(/^\.\/\w+\.js$/)
      expect(from, `${name} loads the library`).not.toBe('./arrow.js')
    }
  }
})
