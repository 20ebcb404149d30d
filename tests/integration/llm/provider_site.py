"""A corner of the sample ministry, so small that a sweep of it takes a second or two."""

import shutil
from pathlib import Path

import yaml

from monitor.demo.content import find_site_folder

SECTION = "tzgg"
HOME = "yw"
_ITEMS = {SECTION: 5, HOME: 0}
_PER_PAGE = 2


def write_small_site(folder: Path) -> Path:
    """Write the sample ministry with one section of three short list pages; gives its folder."""
    source = find_site_folder("ministry")
    shutil.copytree(source, folder, dirs_exist_ok=True)
    site = yaml.safe_load((source / "site.yaml").read_text("utf-8"))
    site["sections"] = [section for section in site["sections"] if section["id"] in _ITEMS]
    site["off_navigation"] = [HOME]
    names = {section["name"] for section in site["sections"]}
    site["focus_areas"] = [area for area in site["focus_areas"] if area["name"] in names]
    for section in site["sections"]:
        section["listing"].pop("shows", None)
        section["listing"]["per_page"] = _PER_PAGE
        items_file = folder / "items" / f"{section['id']}.yaml"
        items = yaml.safe_load(items_file.read_text("utf-8"))[: _ITEMS[section["id"]]]
        items_file.write_text(yaml.safe_dump(items, allow_unicode=True), "utf-8")
    (folder / "site.yaml").write_text(yaml.safe_dump(site, allow_unicode=True), "utf-8")
    home = folder / "templates" / "home.html"
    lines = home.read_text("utf-8").splitlines(keepends=True)
    home.write_text("".join(line for line in lines if "tlxf" not in line), "utf-8")
    return folder
