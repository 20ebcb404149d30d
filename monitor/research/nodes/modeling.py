"""The model of the topic, made of the notes."""

from collections import Counter

from pydantic import BaseModel, Field

from monitor.domain.chat import Message
from monitor.domain.words import Phase
from monitor.errors import UsageError
from monitor.llm.answers import parse_object
from monitor.research.blueprint import Reading
from monitor.research.modelled import blueprint_by_rule
from monitor.research.nodes.node import UNUSABLE, Node, NodeResult
from monitor.research.prompts.modeling import again, blueprint_messages
from monitor.research.shapes import ModelBlueprint, Note
from monitor.research.state import SearchEntry

_TRIES = 2
_ECHOED_CHARS = 2000


class Grounds(BaseModel):
    """What the model is made of; `pages` are the results of the search by url, for the rule."""

    question: str
    notes: list[Note]
    pages: dict[str, SearchEntry] = Field(default_factory=dict)


class Modelled(NodeResult):
    """The blueprint, and what of the answers was refused, by its kind."""

    blueprint: ModelBlueprint
    refused: dict[str, int] = Field(default_factory=dict)


class ModelingNode(Node[Grounds, Modelled]):
    """Makes the blueprint: by the model, asked once more where nothing of its answer can be used; else by rule."""

    async def run(self, given: Grounds) -> Modelled:
        self.validate_input(given)
        parts = self.parts
        messages = blueprint_messages(given.question, given.notes, parts.language, prompts=parts.prompts)
        tokens, failure = 0, ""
        refused: Counter[str] = Counter()
        for _ in range(_TRIES):
            answer = await self.asked(messages, phase=Phase.MODELING, place="blueprint")
            tokens += answer.tokens
            failure = answer.failure
            if failure:
                break
            modelled = self.process_output(answer.text, given)
            refused.update(modelled.refused if modelled else {})
            if modelled is not None and modelled.blueprint.core_drivers:
                return modelled.model_copy(update={"tokens": tokens, "refused": dict(refused)})
            failure = UNUSABLE
            messages = [
                *messages,
                Message(role="assistant", content=answer.text[:_ECHOED_CHARS]),
                again(parts.language),
            ]
        blueprint = blueprint_by_rule(given.notes, given.question, given.pages)
        return Modelled(blueprint=blueprint, refused=dict(refused), tokens=tokens, fallback=failure)

    def validate_input(self, given: Grounds) -> None:
        """There is a note at least."""
        if not given.notes:
            raise UsageError("There are no notes to make a model of.")

    def process_output(self, answer: str, given: Grounds) -> Modelled | None:
        """What of an answer rests on the notes: without drivers where none does; None where it is no object."""
        document = parse_object(answer)
        if document is None:
            return None
        reading = Reading(given.notes, given.question)
        blueprint = reading.blueprint(document)
        return Modelled(blueprint=blueprint, refused=dict(+reading.refused))
