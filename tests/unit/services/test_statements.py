"""Statements that are handed in with their pages, judged in worker processes."""

from monitor.isolation.pool import WorkerPool
from monitor.services.statements import StatementInput, StatementService
from monitor.vocabulary import Verdict

PAGE = "通知自2026年7月1日起施行，涉及12家企业。"
OTHER = "办法自2027年1月1日起施行。"


def state(sentence: str, page: str = PAGE) -> StatementInput:
    return StatementInput(title="关于完善绿色电价的通知", page=page, sentence=sentence)


async def test_statements_on_several_pages_come_back_in_their_order(workers: WorkerPool) -> None:
    asked = [state(PAGE), state(OTHER, OTHER), state("通知自2026年8月1日起施行。"), state(PAGE, OTHER)]
    found = await StatementService(workers=workers).verify(asked)
    verdicts = [statement.verdict for statement in found]
    assert verdicts[:2] == [Verdict.SUPPORTED, Verdict.SUPPORTED]
    assert not any(verdict.is_kept for verdict in verdicts[2:])


async def test_a_statement_whose_page_cannot_be_read_is_unchecked(refusing_workers: WorkerPool) -> None:
    (found,) = await StatementService(workers=refusing_workers).verify([state(PAGE)])
    assert found.verdict is Verdict.UNCHECKED
