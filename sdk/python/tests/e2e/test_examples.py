"""Runs the examples of the pages."""

import re
from pathlib import Path
from typing import Any

import pytest

from livegraph import Client

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT.parent.parent / "docs" / "sdks.md"]


def examples(page: Path) -> list[tuple[int, str]]:
    """Returns the examples in Python of a page with the numbers of their lines."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start()) + 1, match[1]) for match in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run_one_after_the_other(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = examples(page)
    assert len(found) >= 5
    names: dict[str, Any] = {"__name__": "example"}
    for line, source in found:
        prints = re.search("^(print|for|result)", source, re.MULTILINE)
        capsys.readouterr()
        # The number of the line is that of the page in a traceback.
        exec(compile("\n" * line + source, str(page), "exec"), names)
        printed = capsys.readouterr().out
        assert printed or not prints, f"the example in line {line} of {page.name} printed nothing"
    for client in [value for value in names.values() if isinstance(value, Client)]:
        client.close()
