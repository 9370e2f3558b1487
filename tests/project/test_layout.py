"""Rules about the tree itself that no linter checks."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def imported_modules(source: str) -> set[str]:
    """Full names of the modules that `source` imports; for `from a import b` both a and a.b, since b may be either."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_every_cython_unit_is_built() -> None:
    """A unit that CMakeLists.txt does not name would be missing without a word."""
    listed = re.search(
        r"^set\(units\n(.*?)^\)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M | re.S
    )
    assert listed is not None
    want_units = {path.stem for path in (ROOT / "src/kueuecore").glob("*.pyx")} - {"_probe"}
    assert set(listed[1].split()) == want_units


def test_no_unit_carries_compiler_directives() -> None:
    """Directives stand in CMakeLists.txt, so that one option changes all units."""
    units = (ROOT / "src/kueuecore").glob("*.p[yx][xd]")
    assert [
        unit.name for unit in units if re.search(r"^#\s*(cython|distutils)\s*:", unit.read_text(), re.M)
    ] == []


def test_model_imports_only_the_quantities_of_the_kernel() -> None:
    """The import-linter contract cannot tell compiled modules apart."""
    names = {
        name
        for path in (ROOT / "python/kueue_fast/model").rglob("*.py")
        for name in imported_modules(path.read_text(encoding="utf-8"))
        if name.split(".")[0] == "kueuecore"
    }
    assert {name for name in names if not f"{name}.".startswith("kueuecore._quantity.")} == set()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_of_the_documentation_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert [target for target in targets if not (ROOT / page.parent / target).exists()] == []


def test_tests_that_the_parity_page_names_exist() -> None:
    """A difference from upstream is held by a test, or it is a bug."""
    page = (ROOT / "docs/parity.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert named
    assert [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).exists()
        or (test and f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8"))
    ] == []


def test_every_array_of_the_kernel_is_described() -> None:
    """docs/arrays.md names the arrays of the `.pxd` files, and no others."""
    declared = {
        name
        for path in (ROOT / "src/kueuecore").glob("*.pxd")
        for name in re.findall(
            r"^    cdef [\w ]+\[(?::, )?::1\] (\w+)", path.read_text(encoding="utf-8"), re.M
        )
    }
    page = (ROOT / "docs/arrays.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \| \[[\w, ]+\] \|.*\|.*\|.*\|$", page, re.M)) == declared
