"""A corner of the sample ministry, so small that a sweep of it takes a second or two."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import yaml

from monitor.demo.content import find_site_folder

SECTIONS = ("zcfg", "tzgg")
HOME = "yw"
_MAX_ITEMS = 3


def write_small_site(folder: Path, *, sections: Sequence[str] = SECTIONS) -> Path:
    """Write the sample ministry with these sections and a few items in each; gives its folder."""
    source = find_site_folder("ministry")
    shutil.copytree(source, folder, dirs_exist_ok=True)
    site = yaml.safe_load((source / "site.yaml").read_text("utf-8"))
    kept = [section for section in site["sections"] if section["id"] in (*sections, HOME)]
    names = {section["name"] for section in kept}
    site["sections"] = kept
    site["off_navigation"] = [HOME]
    site["focus_areas"] = [area for area in site["focus_areas"] if area["name"] in names]
    for section in kept:
        section["listing"].pop("shows", None)
        items_file = folder / "items" / f"{section['id']}.yaml"
        items = yaml.safe_load(items_file.read_text("utf-8"))
        items_file.write_text(yaml.safe_dump(items[:_MAX_ITEMS], allow_unicode=True), "utf-8")
    (folder / "site.yaml").write_text(yaml.safe_dump(site, allow_unicode=True), "utf-8")
    return folder
