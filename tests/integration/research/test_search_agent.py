"""The deep search end to end: real searches and pages over HTTP on loopback, a scripted model, files."""

from typing import Any

from monitor.demo.scripted_model import ScriptedModel
from monitor.research.agents.search import SearchAgent


async def test_a_paragraph_is_searched_for_summed_up_and_searched_for_again(
    storage: Any, planned: Any, telling: Any
) -> None:
    storage.model = ScriptedModel()
    parts = await storage.parts()
    state = await planned(parts, "新型储能的现状")
    paragraph = await SearchAgent(parts, telling).paragraph(state, 0)
    print(paragraph.model_dump_json(indent=1))
    print(telling.told)
    assert paragraph.is_complete
