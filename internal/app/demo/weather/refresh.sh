#!/bin/sh
# Fetches weather.csv again out of the npm package that ships it, and checks
# that it is the file that was reviewed. Needs npm. See SOURCE.md.
set -eu
package=vega-datasets@3.2.1
sum=27219f1ca8dbd94c9b6f4b9f4f52ab2f1eb33dfdcf719cd9fc6481ed50b74549
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "$package" >/dev/null
tar -xzf ./*.tgz package/data/weather.csv
echo "$sum  package/data/weather.csv" | sha256sum -c -
cp package/data/weather.csv "$here/weather.csv"
