"""The order of importance: what the model is asked, how its answer is repaired, and the principles as rules."""

from monitor.ranking.prompt import LINES_BEGIN, LINES_END, ranking_messages, repair_order
from monitor.ranking.rule import Rankable, RankLine, item_type_of, newest_first, rule_order, tier_of
from monitor.ranking.wishes import honoured, lifts_of

__all__ = [
    "LINES_BEGIN",
    "LINES_END",
    "RankLine",
    "Rankable",
    "honoured",
    "item_type_of",
    "lifts_of",
    "newest_first",
    "ranking_messages",
    "repair_order",
    "rule_order",
    "tier_of",
]
