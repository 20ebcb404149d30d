"""`monitor sources teach`, typed as a person types it."""

from typing import Any


async def publish(monitor: Any, site: Any, today: Any) -> list[str]:
    """A bureau with six notices, and the source that watches it; answers their titles."""
    page = "<html><head><title>通知</title></head><body>{}</body></html>"
    body = "<p>请各有关单位认真组织实施，并按月报送进展情况。</p>" * 4
    titles = [f"关于第{number}批绿色能源项目清单的通知" for number in range(1, 7)]
    for number, title in enumerate(titles):
        site.on(f"/n/{number}.html", page.format(f"<h1>{title}</h1>{body}"))
    rows = [f'<li><a href="/n/{n}.html">{title}</a><span>{today()}</span></li>' for n, title in enumerate(titles)]
    monitor.allow(site.on("/news/", page.format(f"<ul>{''.join(rows)}</ul>")))
    added = await monitor(
        "sources", "add", site.url("/"), "--name", "bureau", "--section", f"通知={site.url('/news/')}"
    )
    assert added.code == 0, added.err
    return titles


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


async def test_an_address_is_looked_at_and_a_source_is_looked_at_again(monitor: Any, site: Any, today: Any) -> None:
    await publish(monitor, site, today)
    site.on("/", "<html><body><h1>能源局</h1><a href='/news/'>通知公告</a></body></html>")
    looked = await monitor("sources", "discover", site.url("/news/"))
    assert looked.code == 0, looked.err
    assert "Nothing was stored" in looked.out
    again = await monitor("sources", "discover", "bureau", "--save")
    assert again.code == 0, again.err
    assert "was changed" in again.out
    unknown = await monitor("sources", "discover", "nobody")
    assert (unknown.code, "There is no source" in unknown.complaint) == (2, True)


async def test_a_page_that_asks_to_log_in_is_added_with_the_next_steps_named(
    monitor: Any, site: Any, today: Any
) -> None:
    await publish(monitor, site, today)
    site.on("/members/", '<html><body><form><input name="u"><input type="password" name="p"></form></body></html>')
    added = await monitor("sources", "add", site.url("/members/"), "--name", "members")
    assert added.code == 0, added.err
    assert "requires a log-in" in added.complaint
    assert "--step" in added.out
    assert "sources discover members --save" in added.out
