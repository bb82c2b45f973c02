// Reports import cycles between the files of src and exits with 1 if there are any. Imports of
// types count too: a file must be readable before the files that use it.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

import ts from 'typescript'

const root = dirname(fileURLToPath(import.meta.url))
const src = join(root, 'src')
const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
  ts.sys,
  root,
)

/** importsOf returns the files of src that a file imports. */
function importsOf(file) {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'), true, true)
  return importedFiles
    .map(({ fileName }) => ts.resolveModuleName(fileName, file, options, ts.sys).resolvedModule)
    .map((module) => module?.resolvedFileName ?? '')
    .filter((name) => name.startsWith(src))
}

/** cyclesOf returns a path for each import that leads back to a file on the path to it. */
function cyclesOf(graph) {
  const cycles = []
  const done = new Set()
  const visit = (file, path) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file])
    if (done.has(file) || path.includes(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return cycles
}

const files = readdirSync(src, { recursive: true })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join(src, name))
const cycles = cyclesOf(new Map(files.map((file) => [file, importsOf(file)])))
for (const cycle of cycles)
  process.stderr.write(`import cycle: ${cycle.map((file) => relative(src, file)).join(' -> ')}\n`)
process.exit(cycles.length > 0 ? 1 : 0)
