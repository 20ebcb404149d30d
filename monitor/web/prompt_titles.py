"""What the pages call the wordings that a model is told."""


def _(english: str) -> str:
    """Marks a sentence for translation; it is translated when it is shown."""
    return english


PROMPT_TITLES = {
    "navigate.system": _("Finding sections: the role"),
    "navigate.user": _("Finding sections: the question"),
    "section.system": _("Reading a section: the role"),
    "section.user": _("Reading a section: the task"),
    "general.user": _("Reading a whole site: the task"),
    "summary.system": _("Summary: the role"),
    "summary.user": _("Summary: the task"),
    "ranking.system": _("Order of importance: the role"),
    "ranking.user": _("Order of importance: the task"),
    "overview.system": _("Overview of a briefing: the role"),
    "overview.user": _("Overview of a briefing: the task"),
    "research.structure.system": _("Plan of a research: the role"),
    "research.structure.user": _("Plan of a research: the task"),
    "research.search.system": _("Search of a research: the role"),
    "research.search.user": _("First search: the task"),
    "research.reflection.user": _("Further search: the task"),
    "research.summary.system": _("Paragraph of a research: the role"),
    "research.summary.user": _("First version of a paragraph: the task"),
    "research.reflection_summary.user": _("Further version of a paragraph: the task"),
    "research.modeling.system": _("Model of a topic: the role"),
    "research.modeling.user": _("Model of a topic: the task"),
    "research.report.system": _("Report of a research: the role"),
    "research.report.user": _("Report of a research: the task"),
    "research.rewrite.user": _("Sentences written anew: the task"),
}
