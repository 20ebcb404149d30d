"""`monitor sources teach`, typed as a person types it."""

from typing import Any

from tests.integration.cli.test_mcp import publish


async def test_a_section_is_taught_seen_and_forgotten(monitor: Any, site: Any, today: Any) -> None:
    titles = await publish(monitor, site, today)
    words = ("sources", "teach", "bureau", site.url("/news/"))

    looked = await monitor(*words)
    assert looked.code == 0, looked.err
    assert "read now" in looked.out
    assert titles[0] in looked.out

    tried = await monitor(*words, site.url("/n/1.html"), "--dry-run", "--json")
    assert (len(tried.document["rows"]), tried.document["is_saved"]) == (6, False)

    kept = await monitor(*words, site.url("/n/1.html"), site.url("/n/4.html"))
    assert "6 entries" in kept.out, kept.err
    shown = await monitor("sources", "show", "bureau", "--json")
    (recipe,) = shown.document["recipes"]
    assert (recipe["url"], recipe["taught_by"]) == (site.url("/news/"), "person")
    assert recipe["url"] in (await monitor("sources", "show", "bureau")).out

    wrong = await monitor(*words, "https://elsewhere.example/")
    assert (wrong.code, "has no link to" in wrong.complaint) == (2, True)

    forgotten = await monitor(*words, "--forget")
    assert forgotten.code == 0, forgotten.err
    both = await monitor(*words, site.url("/n/1.html"), "--forget")
    assert (both.code, "--forget alone" in both.complaint) == (2, True)
