"""A research whose process is killed (issue 8, point 4): it goes on, its report is whole, nothing is asked twice."""

import asyncio
import json
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from benchmarks.scripted_model.conversation import Conversation, PromptTask
from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import open_app
from monitor.config.loading import load_settings
from monitor.db.engines import DatabaseAddress
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.services.audit import COMMAND_LINE

QUESTION = "2026年新型储能的发展现状与政策走向如何？"
LIMITS = {"max_paragraphs": 4, "max_reflections": 1, "concurrency": 2}
OF_STEPS = {"plan": PromptTask.STRUCTURE, "modeling": PromptTask.BLUEPRINT, "reporting": PromptTask.REPORT}
TIMEOUT_S = 180

Asked = Counter[tuple[str, str]]
"""How often the model was asked for each task, by the paragraph that it was for."""


@dataclass(frozen=True)
class Moment:
    """After so many requests to the model, or so many messages of the stream."""

    of: str
    count: int


@dataclass
class Lab:
    """A folder with a config.yaml for a small web and a scripted model, where researches are begun and killed."""

    place: Any
    model: ScriptedModel
    database_url: str
    processes: list[Any] = field(default_factory=list)

    @property
    def said(self) -> Path:
        """What the processes said on stderr."""
        return Path(self.place.folder / "said.txt")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        engine = create_engine(DatabaseAddress.parse(self.database_url).url)
        try:
            with engine.connect() as connection:
                return [tuple(row) for row in connection.execute(text(query))]
        finally:
            engine.dispose()

    def asked(self) -> Asked:
        found: Asked = Counter()
        for body in self.model.requests:
            conversation = Conversation.parse(body)
            title = conversation.parse_fences().get("PARAGRAPH", "").split("\n")[0]
            found[str(conversation.task), title] += 1
        return found

    def finished(self) -> set[tuple[str, str]]:
        """Tasks of finished steps, and with them all of a finished paragraph, as the database has them."""
        paragraphs = [_parsed(data) for (data,) in self.rows("SELECT data FROM research_paragraph")]
        done = {paragraph["title"] for paragraph in paragraphs if paragraph["research"]["is_completed"]}
        outputs = [_parsed(outputs) for (outputs,) in self.rows("SELECT outputs FROM research")]
        steps = {str(task) for step, task in OF_STEPS.items() if any(step in output for output in outputs)}
        return {key for key in self.asked() if key[1] in done or key[0] in steps}

    async def reached(self, moment: Moment, work: "asyncio.Future[Any]") -> None:
        def count() -> int:
            if moment.of == "requests":
                return len(self.model.requests)
            return int(self.rows("SELECT count(*) FROM research_event")[0][0])

        async with asyncio.timeout(TIMEOUT_S):
            while count() < moment.count and not work.done():  # noqa: ASYNC110 -- no event of ours
                await asyncio.sleep(0.005)

    async def start(self, *words: str) -> Any:
        with self.said.open("ab") as said:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "monitor",
                *words,
                cwd=self.place.folder,
                stdout=asyncio.subprocess.PIPE,
                stderr=said,
            )
        self.processes.append(process)
        return process

    def as_new(self, url: str) -> None:
        self.model.requests.clear()
        self.database_url = url
        self.place.configure(database_url=url)


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture
async def lab(workplace: Any, database: str, free_port: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    world, model = ResearchWorld(), ScriptedModel()
    async with world.serve() as values, model.serve() as base_url:
        workplace.configure(
            **values,
            database_url=database,
            llm={"base_url": base_url, "model": "scripted"},
            research=LIMITS,
            web={"port": free_port},
        )
        lab = Lab(workplace, model, database)
        yield lab
        for process in lab.processes:
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.fixture
def new_database(sqlite_template: Path, tmp_path: Path) -> Callable[[str], str]:
    return lambda name: f"sqlite:///{shutil.copy(sqlite_template, tmp_path / f'{name}.db')}"


@dataclass(frozen=True)
class Undisturbed:
    markdown: str
    requests: int
    messages: int


async def undisturbed(lab: Lab, url: str) -> Undisturbed:
    """The same research with nobody killed, in a database of its own."""
    there = lab.database_url
    lab.as_new(url)
    async with open_app(load_settings(lab.place.folder / "config.yaml")) as app:
        task_id = await app.research.run_in_process(
            QUESTION, config=SearchConfig(), options=ResearchOptions(), by=COMMAND_LINE
        )
        report = (await app.research.get(task_id, by=COMMAND_LINE)).report
        messages = await app.store.research_events.count(task_id)
    assert report is not None
    found = Undisturbed(report.markdown, len(lab.model.requests), messages)
    lab.as_new(there)
    return found


Before = list[tuple[set[tuple[str, str]], Asked]]


async def killed_by_service(lab: Lab, word: str, moments: list[Moment]) -> tuple[dict[str, Any], Before]:
    """A research that a service carries out, which is killed at these moments and started again."""
    service, before = await lab.start(word), Before()
    await _at_work(lab, service)
    command = await lab.start("research", QUESTION, "--json")
    answer = asyncio.create_task(command.stdout.read())
    for moment in moments:
        await lab.reached(moment, answer)
        service.send_signal(signal.SIGKILL)
        await service.wait()
        before.append((lab.finished(), lab.asked()))
        service = await lab.start(word)
    async with asyncio.timeout(TIMEOUT_S):
        result = json.loads(await answer)
    return result, before


async def killed_by_hand(lab: Lab, moments: list[Moment]) -> tuple[dict[str, Any], Before]:
    """A research that a command carries out, which is killed at these moments and typed again with `--resume`."""
    words, before = [QUESTION], Before()
    for moment in moments:
        command = await lab.start("research", *words, "--json")
        ending = asyncio.create_task(command.wait())
        await lab.reached(moment, ending)
        assert not ending.done(), "it ended before its moment"
        command.send_signal(signal.SIGKILL)
        await ending
        before.append((lab.finished(), lab.asked()))
        words = ["--resume", str(lab.rows("SELECT id FROM research")[0][0])]
    async with asyncio.timeout(TIMEOUT_S):
        result = json.loads((await (await lab.start("research", *words, "--json")).communicate())[0])
    return result, before


async def _at_work(lab: Lab, service: Any) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not lab.rows("SELECT id FROM executor WHERE kind = 'worker'"):
            assert service.returncode is None, lab.said.read_text()
            await asyncio.sleep(0.05)


def assert_whole(lab: Lab, result: dict[str, Any], before: Before, expected: Undisturbed) -> None:
    assert result["status"] == "succeeded", result["error"]
    assert result["report"]["markdown"] == expected.markdown
    after = lab.asked()
    for number, (finished, asked) in enumerate(before):
        again = {key for key in finished if after[key] != asked[key]}
        assert not again, f"after kill {number + 1}, what was finished was asked for again: {again}"
    of_paragraphs = sum(count for (_, title), count in after.items() if title)
    in_hand = LIMITS["concurrency"] * len(before)
    assert of_paragraphs <= expected.requests - len(OF_STEPS) + in_hand, "a kill costs the nodes in hand, no more"
    events = [(number, _parsed(data)) for number, data in lab.rows("SELECT id, data FROM research_event ORDER BY id")]
    progress = [data["progress"] for _, data in events]
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    ended = [data["stepType"] for _, data in events if data["status"] == "complete"]
    assert ended == ["plan", "deep_search", "modeling", "reporting"]
    last_start = max(n for n, data in events if (data["stepType"], data["status"]) == ("reporting", "start"))
    chunks = [data["payload"].get("chunk", "") for number, data in events if number > last_start]
    assert "".join(chunks).strip() == expected.markdown.strip()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
async def test_a_research_whose_service_is_killed_again_and_again_goes_on_where_it_was(
    lab: Lab, new_database: Callable[[str], str]
) -> None:
    expected = await undisturbed(lab, new_database("undisturbed"))
    moments = [Moment("requests", expected.requests // 2), Moment("messages", expected.messages - 4)]
    word = "serve" if lab.database_url.startswith("sqlite") else "worker"
    result, before = await killed_by_service(lab, word, moments)
    assert any(finished for finished, _ in before)
    assert_whole(lab, result, before, expected)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_research_whose_command_is_killed_is_gone_on_with_by_its_id(
    lab: Lab, new_database: Callable[[str], str]
) -> None:
    expected = await undisturbed(lab, new_database("undisturbed"))
    moments = [Moment("messages", 3), Moment("requests", expected.requests - 2)]
    result, before = await killed_by_hand(lab, moments)
    assert_whole(lab, result, before, expected)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_thirty_kills_at_moments_spread_over_the_research(lab: Lab, new_database: Callable[[str], str]) -> None:
    expected = await undisturbed(lab, new_database("undisturbed"))
    spread = [Moment("requests", 1 + n * (expected.requests - 1) // 15) for n in range(15)]
    spread += [Moment("messages", 1 + n * (expected.messages - 1) // 15) for n in range(15)]
    for number, moment in enumerate(spread):
        lab.as_new(new_database(f"moment{number}"))
        if number % 2:
            result, before = await killed_by_hand(lab, [moment])
        else:
            result, before = await killed_by_service(lab, "serve", [moment])
        assert len(before) == 1
        assert_whole(lab, result, before, expected)
        for process in lab.processes:
            if process.returncode is None:
                process.kill()
            await process.wait()
