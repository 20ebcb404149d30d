"""The published JSON Schema of a briefing. `python -m monitor.briefing.schema` prints it."""

import json
import sys

from monitor.briefing.compose import Briefing


def briefing_schema() -> str:
    """What the JSON of every briefing of this version looks like, as docs/schemas/briefing.json keeps it."""
    schema = Briefing.model_json_schema(mode="serialization")
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(briefing_schema())
