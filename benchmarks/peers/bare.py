"""Bare httpx with lexbor."""

import asyncio
import sys

import httpx
from reading import SiteReading


async def main(home: str) -> None:
    reading = SiteReading()
    waiting = reading.take([home])
    async with httpx.AsyncClient(trust_env=False) as client:
        while waiting:
            url = waiting.pop()
            waiting += reading.read((await client.get(url)).content, url)
    reading.print()


asyncio.run(main(sys.argv[1]))
