#!/usr/bin/env bash
# Builds the package of sdk/typescript in sdk/typescript/release, checks its files, and installs it in a new
# project, which is compiled and run. Usage: release-check-typescript.sh VERSION.
set -euo pipefail
version=$1
cd "$(dirname "$0")/../../sdk/typescript"
sdk=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rm -rf dist release
mkdir release
npm run build --silent
npm pack --silent --pack-destination release >/dev/null
package=$sdk/release/livegraph-$version.tgz

# For each source file: its code, its types and its source map. Nothing else.
{
  printf 'package/%s\n' LICENSE README.md package.json
  for source in src/*.ts; do
    name=$(basename "$source" .ts)
    printf "package/dist/$name.%s\n" js js.map d.ts
  done
} | sort >"$scratch/expected"
tar -tzf "$package" | sort | diff "$scratch/expected" - || { echo "the package has other files" >&2; exit 1; }

cd "$scratch"
cat >package.json <<'JSON'
{ "private": true, "type": "module" }
JSON
npm install --silent --offline --no-package-lock "$package"
cat >check.ts <<'TYPESCRIPT'
import { Client, TransportError, version, type Node } from 'livegraph'

const options = { url: 'http://127.0.0.1:9', apiKey: 'lg_test_x', workspaceId: 'w', retry: { totalMs: 0 } }
const client = new Client(options)
export const name = async (): Promise<string> => ((await client.nodes.get('n')) satisfies Node).name
try {
  await client.account()
  throw new Error('a server answered')
} catch (error) {
  if (!(error instanceof TransportError)) throw error
}
console.log(version)
TYPESCRIPT
# The declarations are checked too, without the types of Node.js: browsers have none.
for mode in '"NodeNext"' '"ESNext", "moduleResolution": "Bundler"'; do
  cat >tsconfig.json <<JSON
{
  "compilerOptions": {
    "strict": true, "exactOptionalPropertyTypes": true, "types": [], "target": "ES2022",
    "lib": ["ES2022", "DOM", "DOM.Iterable"], "module": $mode
  },
  "include": ["check.ts"]
}
JSON
  "$sdk/node_modules/.bin/tsc"
done
[ "$(node check.js)" = "$version" ]
# Without the optional package, only the module that requires it fails. With it, the module compiles and runs.
if node --input-type=module -e "await import('livegraph/arrow')" 2>missing; then exit 1; fi
grep -q "Cannot find package 'apache-arrow'" missing
for name in apache-arrow flatbuffers json-with-bigint tslib; do
  ln -s "$sdk/node_modules/$name" "node_modules/$name"
done
cat >check.ts <<'TYPESCRIPT'
import { Table } from 'apache-arrow'
import { Client } from 'livegraph'
import { queryArrow, writeArrow, type ArrowReceipt } from 'livegraph/arrow'

const client = new Client({ url: 'http://127.0.0.1:9', apiKey: 'lg_test_x', workspaceId: 'w' })
export const read = (): Promise<Table> => queryArrow(client, { metric: 'm', aggregation: 'avg', interval: '1m' })
const missing: unknown = await writeArrow(client, new Table(), { source: 's' }).catch((error: unknown) => error)
export const write = (table: Table): Promise<ArrowReceipt> => writeArrow(client, table, { source: 's' })
console.log(missing instanceof RangeError)
TYPESCRIPT
sed -i 's/"types": \[\]/"types": [], "skipLibCheck": true/' tsconfig.json # the library requires the types of Node.js
"$sdk/node_modules/.bin/tsc"
[ "$(node check.js)" = true ]
echo "sdk/typescript/release has the package"
