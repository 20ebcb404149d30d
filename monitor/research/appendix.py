"""What code adds to a report: the model of the topic, metrics, a timeline, the sources. Only what the notes carry."""

from collections import Counter
from collections.abc import Sequence

from monitor.domain.prompts import as_material
from monitor.evidence.citing import Cited, has_particulars
from monitor.evidence.instructions import reads_as_instruction
from monitor.evidence.sentences import WEB_ADDRESS, split_sentences
from monitor.formats.document import link_target, link_text
from monitor.research.findings import NoteBasis
from monitor.research.judging import Judge
from monitor.research.picture import ASSOCIATION, word_of
from monitor.research.shapes import Driver, Metric, ModelBlueprint, Scenario
from monitor.research.sheet import Sheet, disarmed, linkable
from monitor.research.timeline import timeline

WORDS = {
    "zh": {
        "model": "驱动因素与关系",
        "scenarios": "情景推演",
        "metrics": "关键指标",
        "timeline": "时间线",
        "sources": "来源",
        "metric": "指标",
        "value": "数值",
        "date": "日期",
        "event": "事项",
        "scenario": "{name}（推演，不是事实）。假设：{assumptions}。可能的结果：{outcomes}。",
        "none": "无",
        "and": "；",
        "colon": "：",
        "relation": "{start} {arrow} {end}（{type}）。",
    },
    "en": {
        "model": "Drivers and how they act",
        "scenarios": "Scenarios",
        "metrics": "Key figures",
        "timeline": "Timeline",
        "sources": "Sources",
        "metric": "Figure",
        "value": "Value",
        "date": "Date",
        "event": "Event",
        "none": "none",
        "and": "; ",
        "colon": ": ",
        "scenario": "{name} (a scenario, not a fact). Assumptions: {assumptions}. Possible outcomes: {outcomes}.",
        "relation": "{start} {arrow} {end} ({type}).",
    },
}
"""What code says in a report, by language."""

_MOST_ALIKE = 2


class Appendix:
    """Writes onto a report's sheet; what may not stand is left out and counted in `refused`."""

    def __init__(self, sheet: Sheet, judge: Judge, *, language: str, refused: Counter[str]) -> None:
        self._sheet = sheet
        self._judge = judge
        self._language = language
        self._words = WORDS[language]
        self._refused = refused

    async def model(self, blueprint: ModelBlueprint) -> None:
        """Drivers and relations with the notes that bear them, scenarios marked as such, metrics as a table."""
        self._sheet.heading(2, self._words["model"])
        shown = {driver.name: driver for driver in blueprint.core_drivers if await self._driver(driver)}
        for relation in blueprint.relationships:
            ends = [shown[name] for name in (relation.from_, relation.to) if name in shown]
            if len(ends) == 2:
                kind = word_of(as_material(relation.type), self._language)
                arrow = "↔" if relation.type == ASSOCIATION else "→"
                names = {"start": as_material(ends[0].name), "end": as_material(ends[1].name)}
                text = self._words["relation"].format(**names, arrow=arrow, type=kind)
                numbers = tuple(dict.fromkeys(end.evidence_refs[0] + 1 for end in ends))
                await self._sheet.sentence(text, numbers, line=text, is_item=True)
        self._sheet.heading(2, self._words["scenarios"])
        for scenario in blueprint.scenarios:
            await self._scenario(scenario)
        self._sheet.heading(2, self._words["metrics"])
        for metric in blueprint.metrics:
            await self._metric(metric)

    async def timeline(self) -> None:
        """What the notes date, one row a fact."""
        self._sheet.heading(2, self._words["timeline"])
        for fact in timeline(self._judge.notes):
            verdict = self._judge.row(Cited(fact.text, (fact.number,)))
            if not verdict.fault:
                head = (self._words["date"], self._words["event"])
                numbers = self._judge.with_fewest(verdict, self._sheet.cited)
                await self._sheet.row(head, (fact.written, verdict.text.rstrip("。.")), numbers)

    async def sources(self, bases: Sequence[NoteBasis]) -> None:
        """The pages that the report cites: the numbers of their notes as sources, title, address, host and date."""
        self._sheet.heading(2, self._words["sources"])
        pages: dict[str, list[int]] = {}
        for place, number in enumerate(self._sheet.cited):
            pages.setdefault(bases[number - 1].url, []).append(place)
        for url, places in pages.items():
            basis = bases[self._sheet.cited[places[0]] - 1]
            title, target = linkable(link_text(basis.title or basis.host)), link_target(url)
            linked = f"[{title}]({_closed(target)})" if target else title
            about = ", ".join(filter(None, (basis.host, str(basis.published_on or ""))))
            numbers = " ".join(f"[{place + 1}]" for place in places)
            await self._sheet.line(f"- {numbers} {linked}{f' — {about}' if about else ''}")

    async def _driver(self, driver: Driver) -> bool:
        """A driver with its description, of which each sentence cites; False where no sentence may stand."""
        refs = tuple(ref + 1 for ref in driver.evidence_refs)
        name, is_written = as_material(driver.name), False
        for sentence in split_sentences(as_material(driver.description)):
            text = sentence if is_written else f"{name}{self._words['colon']}{sentence}"
            verdict = self._judge.row(Cited(text, refs))
            if verdict.fault:
                self._refused[verdict.fault] += 1
            else:
                line = ("driver", driver.name)
                numbers = self._judge.with_fewest(verdict, self._sheet.cited)
                written = await self._sheet.sentence(verdict.text, numbers, line=line, is_item=True)
                is_written = is_written or written
        return is_written

    async def _scenario(self, scenario: Scenario) -> None:
        """What a scenario supposes, of which what says a figure cites a note that has it, or goes."""
        name = await self._supposed(scenario.name)
        told = [await self._all_supposed(texts) for texts in (scenario.assumptions, scenario.outcomes)]
        if name and any(told):
            assumptions, outcomes = (one or self._words["none"] for one in told)
            text = self._words["scenario"].format(name=name, assumptions=assumptions, outcomes=outcomes)
            await self._sheet.quote(text)

    async def _all_supposed(self, texts: Sequence[str]) -> str:
        return self._words["and"].join(filter(None, [await self._supposed(text) for text in texts]))

    async def _supposed(self, text: str) -> str:
        """The words of a scenario with what they cite; empty where it may not say them."""
        clean = as_material(text).rstrip("。.；; ")
        bearers = self._judge.bearers(clean) if has_particulars(clean) else ()
        is_sound = bool(clean) and not WEB_ADDRESS.search(clean) and not reads_as_instruction(clean)
        if not is_sound or (has_particulars(clean) and not bearers):
            self._refused["scenarios"] += 1
            return ""
        return disarmed(clean) + await self._sheet.cite(self._few(bearers))

    async def _metric(self, metric: Metric) -> None:
        name, unit = as_material(metric.name), as_material(metric.unit)
        value = f"{_plain(metric.estimate)}{' ' if unit[:1].isalpha() and unit[:1].isascii() else ''}{unit}"
        text = f"{name} {value}"
        verdict = self._judge.row(Cited(text, self._few(self._judge.bearers(text))))
        if verdict.fault:
            self._refused["metrics"] += 1
        else:
            await self._sheet.row((self._words["metric"], self._words["value"]), (name, value), verdict.numbers)

    def _few(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Of notes that say the same, two of different pages, those that the report cites already first."""
        cited = self._sheet.cited
        in_order = sorted(numbers, key=lambda one: cited.index(one) if one in cited else len(cited) + one)
        by_page = {self._judge.notes[one - 1].source_url: one for one in reversed(in_order)}
        return tuple(one for one in in_order if one in by_page.values())[:_MOST_ALIKE]


def _plain(number: float) -> str:
    """A number without an exponent and without zeros at its end."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _closed(url: str) -> str:
    """An address that no bracket in it can end."""
    return url.replace("(", "%28").replace(")", "%29")
