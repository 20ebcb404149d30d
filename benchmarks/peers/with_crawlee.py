"""crawlee-python with its parser on top of parsel, everything in memory."""

import asyncio
import logging
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from reading import DAY, SiteReading


async def main(home: str) -> None:
    reading = SiteReading()
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        configure_logging=False,
        concurrency_settings=ConcurrencySettings(min_concurrency=4, max_concurrency=8, desired_concurrency=4),
        max_request_retries=0,
    )

    @crawler.router.default_handler
    async def read(context: ParselCrawlingContext) -> None:
        page = context.selector
        reading.count(
            title="".join(page.css("h1::text").getall()),
            day=DAY.search("".join(page.css("div.info::text").getall())),
            text="\n".join(page.css("div.content ::text").getall()),
        )
        await context.enqueue_links(selector="ul.channels a, ul.list a, div.page a")

    logging.getLogger("crawlee").setLevel(logging.ERROR)
    await crawler.run([home])
    reading.print()


asyncio.run(main(sys.argv[1]))
