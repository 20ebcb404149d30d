"""Large briefings in a process of their own, whose memory the system measures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MAX_MB = 500
WRITE = """
import io, json, resource, sys
from monitor.briefing.compose import Briefing
from monitor.briefing.render import render_briefing

form, count = sys.argv[1], int(sys.argv[2])
item = {
    "source": "能源局", "section": "政策法规", "date": "2026-02-01", "date_source": "listed", "type": "通知",
    "summary": "到2035年绿色能源产业增加值达到9.6万亿元，年均增长6.5%左右。" * 4, "summary_by": "extract", "rank": 1,
    "tier": 2, "by": "rule", "late": False, "document_number": "国能〔2026〕1号", "issuer": "能源局", "language": "zh",
    "first_seen": "2026-02-03T00:30:00Z", "evidence": [],
}
items = []
for number in range(count):
    url = f"https://gov.example/{number}"
    attachment = {"title": "附件", "url": f"{url}.pdf", "type": "pdf"}
    title = f"关于第{number}号绿色能源发展中长期规划的通知"
    items.append({**item, "id": number, "title": title, "url": url, "attachments": [attachment]})
briefing = Briefing(
    title="简报", period={"since": "2026-02-03", "until": "2026-02-03"}, language="zh",
    generated_at="2026-02-03T09:30:00+08:00", items=items, more=[], sources=[], gaps=[], baselines=[], extracts=0,
    without_summary=0, reposts=[],
)
content = render_briefing(briefing, form)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
if form == "xlsx":
    from openpyxl import load_workbook
    rows = load_workbook(io.BytesIO(content), read_only=True).worksheets[0].iter_rows(min_row=2)
    found = sum(1 for row in rows)
else:
    from docx import Document
    found = sum(one.style.name == "Heading 3" for one in Document(io.BytesIO(content)).paragraphs)
print(json.dumps({"found": found, "peak_mb": peak}))
"""


@pytest.mark.soak
@pytest.mark.parametrize(("form", "count"), [("xlsx", 10_000), ("docx", 500)])
def test_a_large_briefing_is_whole_and_needs_little_memory(tmp_path: Path, form: str, count: int) -> None:
    done = subprocess.run([sys.executable, "-c", WRITE, form, str(count)], capture_output=True, check=True, timeout=110)
    said = json.loads(done.stdout)
    assert said["found"] == count
    assert said["peak_mb"] < MAX_MB
