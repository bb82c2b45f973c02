// Runs the examples of the pages with the package that was built.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import ts from 'typescript'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
// Inside the package, so that its name is resolved to dist.
const folder = join(root, 'tests', 'examples')
const pages = [join(root, 'README.md'), join(root, '..', '..', 'docs', 'sdks.md')]

interface Example {
  line: number
  source: string
}

/** Returns the examples of a page with the numbers of their lines. */
function examplesOf(page: string): Example[] {
  const text = readFileSync(page, 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => ({
    line: text.slice(0, match.index).split('\n').length + 1,
    source: match[1] ?? '',
  }))
}

/** Returns a module with the examples, which prints a mark before each. They share their names, as on the page. */
function moduleOf(examples: Example[]): string {
  return examples.map(({ line, source }) => `console.log('\\u0000${line}')\n${source}`).join('\n')
}

/** Returns the errors of the compiler for a file, with the settings of the package. */
function typeErrors(path: string): string {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (name) => ts.sys.readFile(name)) as {
    config: object
  }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const found = ts.getPreEmitDiagnostics(ts.createProgram([path], { ...options, noUnusedLocals: false }))
  return ts.formatDiagnostics(found, {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  })
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(pages.map((page) => [basename(page), page]))(
  'the examples of %s run one after the other',
  (name, page) => {
    const examples = examplesOf(page)
    expect(examples.length).toBeGreaterThan(3)
    mkdirSync(folder, { recursive: true })
    const path = join(folder, name.replace('.md', '.ts'))
    writeFileSync(path, moduleOf(examples))
    expect(typeErrors(path)).toBe('')

    const { module, target } = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
    const script = path.replace('.ts', '.mjs')
    writeFileSync(
      script,
      ts.transpileModule(readFileSync(path, 'utf8'), { compilerOptions: { module, target } }).outputText,
    )
    const run = spawnSync(process.execPath, [script], { encoding: 'utf8', timeout: 60_000 })
    expect(run.stderr).toBe('')
    expect(run.status).toBe(0)

    const printed = run.stdout.split('\0').slice(1)
    expect(printed).toHaveLength(examples.length)
    for (const [index, { line, source }] of examples.entries()) {
      const [mark, ...lines] = (printed[index] ?? '').trim().split('\n')
      expect(mark).toBe(String(line))
      if (source.includes('console.log'))
        expect(lines.length, `the example in line ${line} of ${name}`).toBeGreaterThan(0)
    }
  },
)
