"""Runs the cells of a notebook in order, as Jupyter does, and prints facts about its variables as JSON."""

import json
import sys

notebook, facts = sys.argv[1:]
with open(notebook, encoding="utf-8") as file:
    cells = json.load(file)["cells"]
namespace = {}
for number, cell in enumerate(cells):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
print(json.dumps({fact: eval(fact, namespace) for fact in json.loads(facts)}))
