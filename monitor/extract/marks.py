"""The marks by which the memory of a site knows the headings, lines and links of a page on another one."""

from collections.abc import Sequence

from monitor.extract.articles.lines import PageLines
from monitor.extract.html import Outline
from monitor.site_memory import MarkedLine, PageMarks, hash_heading, hash_line, hash_link, hash_place


def mark_page(view: PageLines, lines: Sequence[MarkedLine]) -> PageMarks:
    page, places = view.page, mark_places(view.page)
    names = [view.metadata.title_element, *(page.get_text(node) for node in page.elements if node.tag == "h1")]
    links = [hash_link(places[anchor.element.index], anchor.url) for anchor in page.anchors]
    return PageMarks(tuple(map(hash_heading, names)), tuple([line.mark for line in lines if line.mark]), tuple(links))


def mark_lines(view: PageLines) -> list[MarkedLine]:
    """Return each line with its mark, 0 where it is mostly a link."""
    found = []
    for line in view.lines:
        block, is_link = line.block, 2 * line.linked >= line.width
        mark = 0 if is_link else hash_line([node.tag for node in block.iter_ancestors()], line.text)
        found.append(MarkedLine(mark, line.width, ((block.parent or block).index, block.kind, block.css_class)))
    return found


def mark_places(page: Outline) -> dict[int, int]:
    """Return the mark of the place of each link, by the index of its element."""
    paths = [(anchor.element.index, list(anchor.element.iter_ancestors())[1:]) for anchor in page.anchors]
    return {index: hash_place([(node.tag, node.class_and_id) for node in path]) for index, path in paths}
