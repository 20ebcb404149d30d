"""The modelling step: has the model of the topic made by the model, or by rule."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, Field, JsonValue

from monitor.errors import UsageError
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.llm.answer_schemas import ANY_OBJECT
from monitor.llm.answers import parse_object
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.research.blueprint import BlueprintParser, build_blueprint_by_rule
from monitor.research.dependencies import LONG_WORK
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
        return CompletionRequest(messages, Phase.MODELING, "blueprint", schema=ANY_OBJECT)

    def build_correction(self, out: ModelingResult | None) -> ChatMessage:
        del out
        return self.deps.prompt_builder.build_blueprint_retry_message()

    def validate_input(self, given: ModelingNodeInput) -> None:
        if not given.notes:
            raise UsageError("research.no_notes")

    def process_output(self, answer: str, given: ModelingNodeInput) -> ModelingResult | None:
        """Return what of an answer rests on the notes, without drivers where none does; None where it is no object."""
        document = parse_object(answer)
        if document is None:
            return None
        return _build_result(parse_blueprint(document, given, self.deps.language, {}))

    async def read_answer(self, answer: str, given: ModelingNodeInput) -> ModelingResult | None:
        """Do the same, and have the second reader settle what code left open of the descriptions, in one call."""
        document = parse_object(answer)
        if document is None:
            return None
        parsed = await self._parse(document, given, {})
        reviewed = await review_verdicts(self.deps, parsed.verdicts, place="blueprint")
        if settled := list_settled(reviewed):
            parsed = await self._parse(document, given, settled)
        return _build_result(parsed)

    async def run_by_rule(self, given: ModelingNodeInput) -> ModelingResult:
        try:
            blueprint = await self.deps.workers.run_limited(
                LONG_WORK, build_blueprint_by_rule, given.notes, given.question, given.pages
            )
        except IsolatedWorkFailed as error:
            return ModelingResult(blueprint=ModelBlueprint(), fallback=error.message)
        return ModelingResult(blueprint=blueprint)

    async def _parse(
        self, document: Mapping[str, JsonValue], given: ModelingNodeInput, settled: Mapping[str, Judgement]
    ) -> "ParsedBlueprint":
        return await self.deps.workers.run_limited(
            LONG_WORK, parse_blueprint, document, given, self.deps.language, settled
        )


@dataclass(frozen=True)
class ParsedBlueprint:
    blueprint: ModelBlueprint
    verdicts: list[SentenceVerdict]
    statements: list[JudgedStatement]
    refused: dict[str, int]


def parse_blueprint(
    document: Mapping[str, JsonValue], given: ModelingNodeInput, language: str, settled: Mapping[str, Judgement]
) -> ParsedBlueprint:
    """Hold an answer against the notes and the pages that they are from."""
    pages = {
        url: SourceText(text=page.content, title=page.title, published_on=page.published_on)
        for url, page in given.pages.items()
    }
    sources = build_note_sources(given.notes, pages)
    parser = BlueprintParser(given.notes, given.question, language, sources, settled)
    return ParsedBlueprint(parser.parse(document), parser.verdicts, parser.statements, dict(+parser.refused))


def _build_result(parsed: ParsedBlueprint) -> ModelingResult:
    return ModelingResult(blueprint=parsed.blueprint, statements=parsed.statements, refused=parsed.refused)
