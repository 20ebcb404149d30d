"""Scrapy, with its own selectors."""

import sys
from collections.abc import Iterator
from typing import Any

import scrapy
from reading import DAY, SiteReading
from scrapy.crawler import CrawlerProcess

_reading = SiteReading()


class SiteSpider(scrapy.Spider):
    name = "site"
    start_urls = (sys.argv[1],)

    def parse(self, response: Any) -> Iterator[Any]:
        _reading.count(
            title="".join(response.css("h1::text").getall()),
            day=DAY.search("".join(response.css("div.info::text").getall())),
            text="\n".join(response.css("div.content ::text").getall()),
        )
        for link in response.css("ul.channels a, ul.list a, div.page a"):
            yield response.follow(link, self.parse)


process = CrawlerProcess(
    {"ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 0, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}
)
process.crawl(SiteSpider)
process.start()
_reading.print()
