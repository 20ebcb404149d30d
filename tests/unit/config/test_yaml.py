"""A configuration that was written to do harm is refused soon, with little memory; one of any use is read."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from monitor.config.loading import MAX_YAML_BYTES, load_settings, parse_yaml
from monitor.errors import SettingsError, UsageError
from monitor.services.sources.exchange import parse_list
from monitor.services.sources.tables import SourceListFormat

LEVELS = range(1, 24)
HOSTILE = {
    "merge": "\n".join(["a0: &a0 {k: v}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}, *a{n - 1}]}}" for n in LEVELS)]),
    "laughs": "\n".join(["a0: &a0 [v]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in LEVELS)]),
    "itself": "a: &a\n  b: *a\n",
    "deep sequence": "a: " + "[" * 20_000,
    "deep mapping": "a: " + "{a: " * 20_000,
    "long": "a: [" + "1," * 800_000 + "1]",
    "large": "a: " + "x" * MAX_YAML_BYTES,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_would_multiply_or_nest_without_end_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(HOSTILE[name])
    with pytest.raises(SettingsError, match=str(file)):
        load_settings(file)
    with pytest.raises(UsageError):
        parse_list(HOSTILE[name].encode(), SourceListFormat.YAML, label="sources.yaml")


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_within_a_second_of_work_and_50_mb(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(HOSTILE[name])
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from monitor.config.loading import load_settings\n"
        "from monitor.errors import SettingsError\n"
        "used = lambda: resource.getrusage(resource.RUSAGE_SELF)\n"
        "before = used()\n"
        "try:\n    load_settings(Path(sys.argv[1]))\n"
        "except SettingsError:\n    pass\n"
        "after = used()\n"
        "print(after.ru_utime - before.ru_utime, (after.ru_maxrss - before.ru_maxrss) / 1024)\n"
    )
    limit = (2**31, 2**31)
    output = subprocess.run(
        [sys.executable, "-c", script, str(file)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    ).stdout
    seconds, megabytes = map(float, output.split())
    assert seconds < 1
    assert megabytes < 50


def test_anchors_and_merges_of_a_human_hand_are_read() -> None:
    text = "base: &base {timezone: Asia/Shanghai, max_items: 20}\nsources:\n  - {<<: *base, name: 局}\n  - *base\n"
    assert parse_yaml(text) == yaml.safe_load(text)
    assert parse_yaml("") is None


def test_a_list_of_5000_sources_is_read() -> None:
    rows = [
        {"name": f"局 {n}", "url": f"https://bureau-{n}.example/", "focus_areas": ["能源", "碳市场"], "max_items": 20}
        | {"schedule": "0 7 * * 1-5", "timezone": "Asia/Shanghai", "tags": ["能源"], "enabled": True, "window_days": 7}
        for n in range(5000)
    ]
    text = yaml.dump({"sources": rows}, allow_unicode=True, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    assert len(parse_list(text.encode(), SourceListFormat.YAML, label="sources.yaml").rows) == 5000
