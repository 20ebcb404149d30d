"""Reading the result pages of services that are made for people."""

from collections.abc import Iterable, Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.net.response import Response
from monitor.pages.encoding import decode


def tree_of(response: Response) -> LexborHTMLParser:
    """The page, decoded as browsers do."""
    return LexborHTMLParser(decode(response.body, response.content_type)[0])


def outermost(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """Those nodes that lie in no other one of them: a result within a result is a part of it."""
    found = list(nodes)
    known = {node.mem_id for node in found}
    return [node for node in found if not any(parent.mem_id in known for parent in parents_of(node))]


def parents_of(node: LexborNode) -> Iterator[LexborNode]:
    """What a node lies in, from the inside out."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def classes_of(node: LexborNode) -> list[str]:
    """The words of a node's class."""
    return (node.attributes.get("class") or "").split()


def text_of(node: LexborNode | None) -> str:
    """The text that a node and all within it show; empty for None."""
    return "" if node is None else " ".join(node.text(deep=True).split())


def first_text(node: LexborNode, *selectors: str) -> str:
    """The text of the first node that has any, the selectors tried in their order."""
    for selector in selectors:
        for found in node.css(selector):
            if text := text_of(found):
                return text
    return ""
