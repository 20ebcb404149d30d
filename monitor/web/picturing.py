"""The pictures of the Health pages: what the use cases tell, as charts with words in the visitor's language."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence

from babel.numbers import format_decimal, format_percent
from markupsafe import Markup

from monitor.app.blocks import HostBlock
from monitor.app.costs import CostChart
from monitor.app.health import SectionHealth, SourceHealth
from monitor.domain.words import Phase
from monitor.store.ledger import ARRIVALS_KEPT
from monitor.store.usage import RESEARCH, NamedSpending
from monitor.web.charts import Chart, Limit, Series, StripWords, bars, cadence_strip, share
from monitor.web.gate import Visitor
from monitor.web.rendering import Look
from monitor.web.words import word

_MOST_ROWS = 20

Row = tuple[str, int, int, Markup, str, str]


class Pictures:
    """Draws for one visitor, on one day of the service."""

    def __init__(self, look: Look, visitor: Visitor, today: dt.date) -> None:
        self._look = look
        self._visitor = visitor
        self._language = visitor.language
        self._today = today

    def cadence_of_source(self, source: SourceHealth) -> Markup:
        """The cadence of all its sections together; silence begins with the first of them that is silent."""
        return self._cadence(source.source, source.sections)

    def cadence_of_section(self, section: SectionHealth) -> Markup:
        return self._cadence(section.name, [section])

    def usual(self, sections: Sequence[SectionHealth]) -> str:
        """How many days usually lie between two arrivals, in the liveliest of the sections."""
        known = [section.usual_days for section in sections if section.usual_days is not None]
        if not known:
            return self.gettext("not known yet")
        return self.gettext("{} days").format(f"{min(known):g}") if min(known) != 1 else self.gettext("1 day")

    def blocks(self, rows: Sequence[HostBlock], days: Sequence[dt.date]) -> Chart:
        """Pages that were kept from us by day, by kind of block."""
        pages: Counter[tuple[str, dt.date]] = Counter()
        for row in rows:
            pages[row.detail_code, row.day] += row.pages
        series = [
            Series(word(self._language, "block", code), [pages[code, day] for day in days])
            for code in sorted({row.detail_code for row in rows})
        ]
        total = sum(row.pages for row in rows)
        return self._bars("blocks", days, series, self.gettext("Pages that sites kept from us, by day"), total)

    def costs(self, chart: CostChart, budget: int | None) -> list[Chart]:
        """Tokens by phase, money and searches, each by day; what did not happen has no chart."""
        tokens = {(one.phase, one.day): one.tokens for one in chart.phases}
        phases = [
            Series(word(self._language, "phase", phase), [tokens.get((phase, day), 0) for day in chart.days])
            for phase in Phase
            if any(one.phase is phase for one in chart.phases)
        ]
        limit = Limit(self.gettext("daily budget"), budget) if budget else None
        figures = []
        if phases:
            total = sum(tokens.values())
            figures.append(
                self._bars("tokens", chart.days, phases, self.gettext("Tokens by day and phase"), total, limit=limit)
            )
        money = [chart.cost_on(day) or 0.0 for day in chart.days]
        if any(money):
            series = [Series(self.gettext("Money"), money)]
            figures.append(
                self._bars("money", chart.days, series, self.gettext("Money by day"), sum(money), is_money=True)
            )
        asked = {(search.backend, search.day): search.requests for search in chart.searches}
        backends = [
            Series(name, [asked.get((name, day), 0) for day in chart.days])
            for name in sorted({name for name, _ in asked})
        ]
        if backends:
            total = sum(asked.values())
            figures.append(
                self._bars("searches", chart.days, backends, self.gettext("Search requests by day and service"), total)
            )
        return figures

    def shares(self, chart: CostChart) -> list[tuple[str, str, list[Row]]]:
        """The tables by model and by source, each row with its part of all tokens."""
        return [
            (self.gettext("By model"), self.gettext("Model"), self._rows(chart.models)),
            (self.gettext("By source"), self.gettext("Source"), self._rows(chart.sources)),
        ]

    def budget_bar(self, tokens: int, budget: int) -> Markup:
        """How much of the day's budget is spent."""
        return share(tokens, budget)

    def money(self, cost: float | None) -> str:
        """An amount; without a price there is none."""
        return "–" if cost is None else format_decimal(cost, format="#,##0.00##", locale=self._language)

    def _cadence(self, name: str, sections: Iterable[SectionHealth]) -> Markup:
        some = list(sections)
        arrivals = [day for one in some for day in one.arrivals]
        limits = [
            one.last_new_on + dt.timedelta(days=one.silent_after_days)
            for one in some
            if one.silent_after_days is not None and one.last_new_on is not None
        ]
        silent_on = min(limits, default=None)
        within = sum(day > self._today - dt.timedelta(days=90) for day in set(arrivals))
        told = [self.gettext("something new on {} of the last 90 days").format(within)]
        if arrivals:
            told.append(self.gettext("last on {}").format(max(arrivals)))
        if silent_on is not None:
            told.append(self.gettext("silent from {}").format(silent_on))
        forgotten = [one.arrivals[0] for one in some if len(one.arrivals) >= ARRIVALS_KEPT]
        return cadence_strip(
            arrivals,
            today=self._today,
            silent_on=silent_on,
            known_since=max(forgotten, default=None),
            words=StripWords(
                title=name,
                summary=self.gettext("; ").join(told),
                now=self.gettext("today, {}").format(self._today),
                silent=self.gettext("silent from {}").format(silent_on),
            ),
        )

    def _bars(
        self,
        name: str,
        days: Sequence[dt.date],
        series: Sequence[Series],
        title: str,
        total: float,
        *,
        limit: Limit | None = None,
        is_money: bool = False,
    ) -> Chart:
        shown = self.money if is_money else lambda value: format_decimal(round(value), locale=self._language)
        summary = self.gettext("{} to {}, {} in all").format(days[0], days[-1], shown(total))
        return bars(
            name,
            days,
            series,
            title=title,
            summary=summary,
            day_word=self.gettext("Day"),
            shown=shown,
            limit=limit,
        )

    def _rows(self, spent: Sequence[NamedSpending]) -> list[Row]:
        whole = sum(one.tokens for one in spent)
        rows = []
        for one in spent[:_MOST_ROWS]:
            percent = format_percent(one.tokens / whole if whole else 0, locale=self._language)
            name = one.name or self.gettext("briefings and runs that are no longer on record")
            name = self.gettext("Research") if name == RESEARCH else name
            rows.append((name, one.calls, one.tokens, share(one.tokens, whole), percent, self.money(one.cost)))
        return rows

    def gettext(self, english: str) -> str:
        """The sentence in the visitor's language."""
        return self._look.text(self._visitor, english)
