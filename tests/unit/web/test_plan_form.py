"""The plan of a research in a form: what is pressed moves, removes or adds a paragraph, and loses nothing."""

from starlette.datastructures import FormData

from monitor.web.ui.research import PlanForm, rearrange_plan


def form(do: str, *titles: str) -> PlanForm:
    fields = [("title", " Bericht "), ("do", do)]
    for title in titles:
        fields += [("paragraph_title", title), ("paragraph_content", f"what\r\n{title} says")]
    return PlanForm.parse(FormData(fields))


def titles(plan: PlanForm) -> list[str]:
    return [paragraph.title for paragraph in plan.paragraphs]


def test_a_form_is_read_in_the_order_of_the_page() -> None:
    plan = form("start", "a", "b")
    assert (plan.title, plan.do) == ("Bericht", "start")
    assert [(paragraph.title, paragraph.content) for paragraph in plan.paragraphs] == [
        ("a", "what\na says"),
        ("b", "what\nb says"),
    ]


def test_paragraphs_move_and_the_focus_goes_with_them() -> None:
    up = rearrange_plan(form("up-2", "a", "b", "c"), max_paragraphs=5)
    assert (titles(up), up.focus) == (["a", "c", "b"], 1)
    down = rearrange_plan(form("down-0", "a", "b", "c"), max_paragraphs=5)
    assert (titles(down), down.focus) == (["b", "a", "c"], 1)
    assert [paragraph.content for paragraph in down.paragraphs] == ["what\nb says", "what\na says", "what\nc says"]


def test_the_first_goes_no_higher_and_the_last_no_lower() -> None:
    assert titles(rearrange_plan(form("up-0", "a", "b"), max_paragraphs=5)) == ["a", "b"]
    assert titles(rearrange_plan(form("down-1", "a", "b"), max_paragraphs=5)) == ["a", "b"]


def test_a_paragraph_is_removed_and_the_focus_stays_near() -> None:
    plan = rearrange_plan(form("remove-2", "a", "b", "c"), max_paragraphs=5)
    assert (titles(plan), plan.focus) == (["a", "b"], 1)


def test_an_empty_paragraph_is_added_up_to_the_limit() -> None:
    plan = rearrange_plan(form("add", "a"), max_paragraphs=2)
    assert (titles(plan), plan.focus) == (["a", ""], 1)
    assert titles(rearrange_plan(form("add", "a", "b"), max_paragraphs=2)) == ["a", "b"]


def test_what_nobody_could_have_pressed_changes_nothing() -> None:
    for do in ("remove-7", "up--1", "drop", "up-1x", ""):
        assert rearrange_plan(form(do, "a", "b"), max_paragraphs=5) == form(do, "a", "b")
