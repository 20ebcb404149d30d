"""What an item rests on, told: each statement with its words, where they stand, and the file that proves it."""

from monitor.app.proof import Proof
from monitor.cli.terminal import Terminal


def tell_proof(terminal: Terminal, proof: Proof) -> None:
    """Claim by claim, then record by record."""
    if not proof.claims:
        terminal.note("Nothing is recorded for this item: it was saved before records were kept, or they are gone.")
        return
    numbers = {record.id: number for number, record in enumerate(proof.records, start=1)}
    terminal.say()
    for claim in proof.claims:
        terminal.say(f"{claim.kind:<16} {claim.claim}")
        words = f"“{claim.passage}”" if claim.passage else "the page as a whole"
        terminal.say(f"{'':<16}   [{numbers.get(claim.record, claim.record)}] {words}")
    for record in proof.records:
        status = "" if record.status is None else f", {record.status}"
        terminal.say(f"\n[{numbers[record.id]}] record {record.id}: {record.final_url}")
        terminal.say(
            f"    seen     {record.fetched_at:%Y-%m-%d %H:%M:%S} UTC ({record.way}{status}), run {record.run_id}"
        )
        terminal.say(f"    sha256   {record.sha256 or '-'}")
        terminal.say(f"    file     {record.file or '-'}")
        if record.problem:
            terminal.say(f"    PROBLEM  {record.problem}")
