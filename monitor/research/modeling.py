"""The modelling step: has the model of the topic made by the model, or by rule."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, Field, JsonValue

from monitor.errors import UsageError
from monitor.llm.answers import parse_object
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.research.blueprint import BlueprintParser, build_blueprint_by_rule
from monitor.research.judging import SentenceVerdict, build_note_sources, list_settled, review_verdicts
from monitor.research.node import NodeResult, PromptNode
from monitor.research.shapes import JudgedStatement, ModelBlueprint, ResearchNote
from monitor.research.state import SearchEntry
from monitor.verify.statements import Judgement, SourceText
from monitor.vocabulary import Phase


class ModelingNodeInput(BaseModel):
    """`pages` are the results of the search by url, for the rule."""

    question: str
    notes: list[ResearchNote]
    pages: dict[str, SearchEntry] = Field(default_factory=dict)


class ModelingResult(NodeResult):
    blueprint: ModelBlueprint
    statements: list[JudgedStatement] = Field(default_factory=list)

    @property
    def is_usable(self) -> bool:
        return bool(self.blueprint.core_drivers)


class ModelingNode(PromptNode[ModelingNodeInput, ModelingResult]):
    """Makes the blueprint: by the model, asked once more where nothing of its answer can be used; else by rule."""

    def build_request(self, given: ModelingNodeInput) -> CompletionRequest:
        messages = self.deps.prompt_builder.build_blueprint_messages(given.question, given.notes)
        return CompletionRequest(messages, Phase.MODELING, "blueprint")

    def build_correction(self, out: ModelingResult | None) -> ChatMessage:
        del out
        return self.deps.prompt_builder.build_blueprint_retry_message()

    def run_by_rule(self, given: ModelingNodeInput) -> ModelingResult:
        return ModelingResult(blueprint=build_blueprint_by_rule(given.notes, given.question, given.pages))

    def validate_input(self, given: ModelingNodeInput) -> None:
        if not given.notes:
            raise UsageError("research.no_notes")

    def process_output(self, answer: str, given: ModelingNodeInput) -> ModelingResult | None:
        """Return what of an answer rests on the notes, without drivers where none does; None where it is no object."""
        document = parse_object(answer)
        if document is None:
            return None
        return self._build_result(self._parse(document, given, {}))

    async def read_answer(self, answer: str, given: ModelingNodeInput) -> ModelingResult | None:
        """Do the same, and have the second reader settle what code left open of the descriptions, in one call."""
        document = parse_object(answer)
        if document is None:
            return None
        parser = await asyncio.to_thread(self._parse, document, given, {})
        reviewed = await review_verdicts(self.deps, parser.verdicts, place="blueprint")
        if settled := list_settled(reviewed):
            parser = await asyncio.to_thread(self._parse, document, given, settled)
        return self._build_result(parser)

    def _parse(
        self, document: Mapping[str, JsonValue], given: ModelingNodeInput, settled: Mapping[str, Judgement]
    ) -> "_ParsedBlueprint":
        pages = {
            url: SourceText(text=page.content, title=page.title, published_on=page.published_on)
            for url, page in given.pages.items()
        }
        sources = build_note_sources(given.notes, pages)
        parser = BlueprintParser(given.notes, given.question, self.deps.language, sources, settled)
        return _ParsedBlueprint(parser.parse(document), parser.verdicts, parser.statements, dict(+parser.refused))

    def _build_result(self, parsed: "_ParsedBlueprint") -> ModelingResult:
        return ModelingResult(blueprint=parsed.blueprint, statements=parsed.statements, refused=parsed.refused)


@dataclass(frozen=True)
class _ParsedBlueprint:
    blueprint: ModelBlueprint
    verdicts: list[SentenceVerdict]
    statements: list[JudgedStatement]
    refused: dict[str, int]
