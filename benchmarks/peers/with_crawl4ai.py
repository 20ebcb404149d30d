"""Crawl4AI with its strategy over HTTP, without a browser, and its Markdown."""

import asyncio
import sys

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from reading import SiteReading


async def main(home: str) -> None:
    reading = SiteReading()
    waiting = reading.take([home])
    config = CrawlerRunConfig(cache_mode=CacheMode.BYPASS, verbose=False)
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy(), verbose=False) as crawler:
        while waiting:
            url = waiting.pop()
            found = await crawler.arun(url, config=config)
            waiting += reading.read(found.html, url)
    reading.print()


asyncio.run(main(sys.argv[1]))
