#!/usr/bin/env bash
# Builds the package of sdk/python in sdk/python/dist, checks its metadata, and installs the wheel in a
# new environment. Usage: release-check.sh PYTHON VERSION, where PYTHON has what requirements.txt lists.
set -euo pipefail
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
version=$2
cd "$(dirname "$0")/../../sdk/python"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rm -rf dist
"$python" -m build --no-isolation >"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$python" -m twine check --strict dist/*

# What the package requires is installed with the versions and hashes of the tests.
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
  --only-binary :all: -r <(awk -v wanted='anyio|certifi|h11|httpcore|httpx|idna|typing-extensions' \
    '/^[a-z]/ { on = $0 ~ "^(" wanted ")==" } on' ../../test/sdk/requirements.txt)
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps dist/*.whl
"$scratch/venv/bin/python" -m pip check --disable-pip-version-check
cd "$scratch"
"$scratch/venv/bin/python" -W error - "$version" <<'PYTHON'
import importlib.resources
import sys

import livegraph

assert livegraph.__version__ == sys.argv[1], livegraph.__version__
assert importlib.resources.files("livegraph").joinpath("py.typed").is_file()
assert "pandas" not in sys.modules, "pandas is optional"
with livegraph.Client("http://127.0.0.1:1", "lg_test_x", "w", retry=livegraph.Retry(total=0)) as client:
    try:
        client.account()
    except livegraph.TransportError as error:
        assert not error.sent
PYTHON
echo "sdk/python/dist has the package"
