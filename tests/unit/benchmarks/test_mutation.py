"""Conditions held true or false in a child: what they change is seen, and nothing of it stays."""

import ast
from pathlib import Path

from benchmarks.mutation import Outcome, list_conditions, measure_conditions
from monitor.extract.lists import candidates
from monitor.extract.lists.candidates import find_lists

ROOM = Path("monitor/extract/lists")
CHOICE = "not chosen and groups and is_shown(page, groups, hints.expected)"


def test_every_if_and_every_filter_of_a_module_is_a_condition() -> None:
    file = ROOM / "candidates.py"
    tests = {
        (node.test.lineno, node.test.col_offset)
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.If | ast.IfExp)
    }
    assert tests <= {(found.line, found.column) for found in list_conditions(file)}


def test_a_condition_on_which_all_depends_is_needed_and_the_program_stays_as_it_was() -> None:
    before = find_lists.__code__
    chosen = [found for found in list_conditions(ROOM / "candidates.py") if found.text == CHOICE]
    (verdict,) = measure_conditions(chosen, None, pages=12)
    assert verdict.outcome is Outcome.NEEDED
    assert verdict.fall > 0.05
    assert candidates.find_lists.__code__ is before
