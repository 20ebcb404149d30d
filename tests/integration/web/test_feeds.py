"""Feeds and calendars for other programs: their rules, what is asked for again, and private addresses."""

import datetime as dt
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from icalendar import Calendar
from lxml import etree

from monitor.briefing.item import ItemSchema
from monitor.briefing.render import build_item_feed
from monitor.db.tables.people import FeedKey
from monitor.exports.atom import render_atom
from monitor.exports.json_feed import render_json_feed
from monitor.services.audit import COMMAND_LINE
from monitor.services.feed_keys import MAX_FEED_KEYS
from tests.integration.web.conftest import Desk
