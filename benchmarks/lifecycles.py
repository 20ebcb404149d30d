"""How well documents are joined to policies: labelled documents whose `policy` is the key of their lifecycle.

The documents of a folder are filed in the order in which they were published, with the facts of their labels or with
those that `read_facts` finds. Every two documents of one lifecycle are a pair to join.
"""

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from monitor.document import DocumentFacts
from monitor.policies.facts import read_facts
from monitor.policies.lifecycle import FiledDocument, find_policies, may_start_policy
from monitor.policies.names import list_references
from monitor.vocabulary import DocumentKind

_KINDS = {"penalty": DocumentKind.ENFORCEMENT, "data": DocumentKind.STATISTICS, "notice": DocumentKind.POLICY}
"""Words of the labels that the vocabulary has not; what is none of it, as news, starts no policy."""


class LabelledPaper(BaseModel):
    id: str
    title: str
    text: str
    published: dt.date | None = None
    issuer: str | None = None
    policy: str | None = None
    gold: dict[str, Any]

    def build_facts(self, *, is_gold: bool) -> DocumentFacts:
        if not is_gold:
            return read_facts(self.title, self.text, published_on=self.published, issuer=self.issuer)
        fields = {name: value for name, value in self.gold.items() if value is not None}
        written = fields.get("kind", "")
        kind = written if written in set(DocumentKind) else _KINDS.get(written, DocumentKind.MEETING)
        return DocumentFacts.model_validate(fields | {"kind": kind, "published_on": self.published})


class JoinFigures(BaseModel):
    """`wrong` are documents in a policy with none of their own lifecycle; the shares are of pairs and of lifecycles."""

    facts: str
    documents: int
    lifecycles: int
    lifecycles_joined: int
    pairs: int
    pairs_joined: int
    joins: int
    wrong: int
    missed: list[str]
    mistaken: list[str]


def load_papers(folder: Path) -> list[LabelledPaper]:
    papers = [
        LabelledPaper.model_validate(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*.json"))
    ]
    return sorted(papers, key=lambda paper: (paper.published or dt.date.min, paper.id))


def measure(folder: Path, *, is_gold: bool) -> JoinFigures:
    papers = load_papers(folder)
    filed = file_papers(papers, is_gold=is_gold)
    of_policy = {paper.id: frozenset(policies) for paper, policies in filed}
    lifecycles: defaultdict[str, list[str]] = defaultdict(list)
    for paper in papers:
        if paper.policy:
            lifecycles[paper.policy].append(paper.id)
    several = {key: ids for key, ids in lifecycles.items() if len(ids) > 1}
    pairs = [pair for ids in several.values() for pair in combinations(ids, 2)]
    missed = [f"{first} {second}" for first, second in pairs if not of_policy[first] & of_policy[second]]
    mistaken = list(_iter_mistakes(papers, of_policy))
    return JoinFigures(
        facts="labels" if is_gold else "read",
        documents=len(papers),
        lifecycles=len(several),
        lifecycles_joined=sum(
            all(of_policy[first] & of_policy[second] for first, second in combinations(ids, 2))
            for ids in several.values()
        ),
        pairs=len(pairs),
        pairs_joined=len(pairs) - len(missed),
        joins=sum(len(of_policy[paper.id]) > 0 for paper in papers),
        wrong=len(mistaken),
        missed=missed,
        mistaken=mistaken,
    )


def file_papers(papers: Sequence[LabelledPaper], *, is_gold: bool) -> list[tuple[LabelledPaper, set[int]]]:
    """Return each document with the policies that it was joined to or started."""
    filed: list[FiledDocument] = []
    for number, paper in enumerate(papers):
        facts = paper.build_facts(is_gold=is_gold)
        references = tuple(list_references(paper.title, paper.text, facts))
        document = FiledDocument(number, paper.title, facts, references, paper.published)
        policies = {proposal.policy_id for proposal in find_policies(document, filed)}
        if not policies and may_start_policy(facts):
            policies = {number}
        document = replace(document, policies=frozenset(policies))
        for place, earlier in enumerate(filed):
            if not earlier.policies and (found := find_policies(earlier, [document])):
                filed[place] = replace(earlier, policies=frozenset(proposal.policy_id for proposal in found))
        filed.append(document)
    return [(paper, set(document.policies)) for paper, document in zip(papers, filed, strict=True)]


def _iter_mistakes(papers: Sequence[LabelledPaper], of_policy: dict[str, frozenset[int]]) -> Iterator[str]:
    """Yield the documents that are with others, of which most are of another lifecycle."""
    members: defaultdict[int, list[LabelledPaper]] = defaultdict(list)
    for paper in papers:
        for policy_id in of_policy[paper.id]:
            members[policy_id].append(paper)
    for together in members.values():
        first = together[0].policy
        for paper in together[1:]:
            if paper.policy is None or paper.policy != first:
                yield f"{paper.id} with {together[0].id}"
