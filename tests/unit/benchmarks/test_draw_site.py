from benchmarks.draw import KINDS, ROW_COUNT, respond
from monitor.demo.serving import LoopbackRequest

ROW = b'<li class="row">'


def get(path: str) -> bytes:
    answer = respond(LoopbackRequest("GET", path, ""))
    assert answer.status == 200
    return answer.body


def test_only_one_kind_of_page_has_its_rows_before_scripts_run() -> None:
    assert {kind: get(f"/{kind}/7").count(ROW) for kind in KINDS} == dict.fromkeys(KINDS, 0) | {"there": ROW_COUNT}


def test_the_rows_are_those_that_the_scripts_ask_for() -> None:
    assert get("/rows/now").count(ROW) == get("/rows/later").count(ROW) == ROW_COUNT
    assert respond(LoopbackRequest("GET", "/elsewhere", "")).status == 404
