"""Alarms on record: opened once, cleared when judged to be over, left alone where nothing could be judged."""

from datetime import UTC, datetime, timedelta

from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.db.tables.delivery import AlarmFinding, AlarmKind
from monitor.i18n.message import Message

AT = datetime(2026, 2, 3, 8, tzinfo=UTC)
GONE = AlarmFinding(kind=AlarmKind.STRUCTURE, message=Message("cause.no_list"), section="news", section_key="a")
ALL = frozenset(AlarmKind)


async def settle(store: Store, source: Source, due: list[AlarmFinding], judged: dict[str, frozenset[AlarmKind]]) -> int:
    """Bring the alarms up to date; answers how many are open."""
    await store.alarms.reconcile(
        source.id or 0, run_id="r", findings=due, judged_kinds=judged, at=AT + timedelta(hours=1)
    )
    return len(await store.alarms.list(only_open=True))


async def test_what_is_due_twice_is_one_alarm_and_what_comes_again_is_a_new_one(store: Store, source: Source) -> None:
    assert await settle(store, source, [GONE], {"": ALL, "a": ALL}) == 1
    assert await settle(store, source, [GONE], {"": ALL, "a": ALL}) == 1
    assert await settle(store, source, [], {"": ALL, "a": ALL}) == 0
    assert await settle(store, source, [GONE], {"": ALL, "a": ALL}) == 1
    assert len(await store.alarms.list()) == 2


async def test_what_could_not_be_judged_stays_open(store: Store, source: Source) -> None:
    await settle(store, source, [GONE], {"": ALL, "a": ALL})
    assert await settle(store, source, [], {"": ALL, "a": frozenset()}) == 1
    assert await settle(store, source, [], {"": ALL}) == 1, "a run that came to no section at all"
    assert await settle(store, source, [], {"": ALL, "b": ALL}) == 0, "a section that is not read any more"


async def test_an_alarm_goes_with_its_source_and_bears_its_present_name(store: Store, source: Source) -> None:
    await settle(store, source, [GONE], {"": ALL, "a": ALL})
    await store.sources.update(source.name, name="new name")
    (alarm,) = await store.alarms.list(run_ids=["r"])
    assert (alarm.source, alarm.section, alarm.kind) == ("new name", "news", AlarmKind.STRUCTURE)
    await store.sources.remove("new name")
    assert await store.alarms.list() == []


async def test_an_alarm_is_untold_until_somebody_was_told(store: Store, source: Source) -> None:
    await settle(store, source, [GONE], {"": ALL, "a": ALL})
    (alarm,) = await store.alarms.list_unnotified()
    await store.alarms.mark_notified([alarm.id], AT)
    assert await store.alarms.list_unnotified() == []


async def test_a_figure_counts_the_alarms_that_are_open(store: Store, source: Source) -> None:
    await settle(store, source, [GONE], {"": ALL, "a": ALL})
    assert (await store.metrics.load_service_metrics()).alarms == {"structure": 1}
    await settle(store, source, [], {"": ALL, "a": ALL})
    assert (await store.metrics.load_service_metrics()).alarms == {}
