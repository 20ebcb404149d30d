"""The marks by which the memory of a site knows the headings, lines and links of a page on another one."""

import re

from monitor.extract.articles.lines import PageLines
from monitor.extract.articles.title import normalize_title
from monitor.extract.html import Element, Outline
from monitor.extract.lists.grouping import normalize_class
from monitor.site_memory import MarkedLine, PageMarks, hash_heading, hash_link, hash_mark, hash_place

_NAMED_STEPS = 4
_TITLE_PARTS = re.compile(r"\s+[-–—|·»:]+\s+|[|_]")


def mark_page(view: PageLines) -> PageMarks:
    page, title = view.page, view.metadata.title_element
    names = [*(page.get_text(element) for element in page.elements if element.tag == "h1"), title]
    folded = map(normalize_title, [*names, *_TITLE_PARTS.split(title)])
    places = mark_places(page)
    return PageMarks(
        headings=tuple([hash_heading(text) for text in folded if text]),
        lines=tuple([line.mark for line in mark_lines(view) if line.mark]),
        links=tuple([hash_link(places[anchor.element.index], anchor.url) for anchor in page.anchors]),
    )


def mark_lines(view: PageLines) -> list[MarkedLine]:
    """Return each line with its mark, 0 where it is mostly a link; tags say where it stands, for classes may differ."""
    found = []
    for line in view.lines:
        block, parent, mark = line.block, line.block.parent or line.block, 0
        if 2 * line.linked < line.width:
            mark = hash_mark("line", "/".join([node.tag for node in block.iter_ancestors()]), line.text)
        found.append(MarkedLine(mark, line.width, (parent.index, f"{block.tag}.{block.css_class}")))
    return found


def mark_places(page: Outline) -> dict[int, int]:
    """Return the mark of the place of each link by the index of its element."""
    return {anchor.element.index: hash_place(_describe_way(anchor.element)) for anchor in page.anchors}


def _describe_way(link: Element) -> str:
    """Return the tags from a link to the root, the nearest with their classes and ids."""
    nodes = list(link.iter_ancestors())[1:]
    named = [f"{node.tag}.{normalize_class(node.class_and_id)}" for node in nodes[:_NAMED_STEPS]]
    return "/".join([*named, *(node.tag for node in nodes[_NAMED_STEPS:])])
