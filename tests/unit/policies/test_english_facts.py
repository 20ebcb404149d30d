"""English numbers, issuers and relations by classes of cases, in texts that no labelled document has."""

import datetime as dt

import pytest

from monitor.policies.day_mentions import DayBase
from monitor.policies.document_text import DocumentText
from monitor.policies.issuers import read_signature
from monitor.policies.numbers import find_own_number
from monitor.policies.relations import read_relations
from monitor.vocabulary import PolicyStage

BODY = (
    "\n\nThe requirements in this document apply to every firm that holds a licence. They take effect on 1 July 2027."
    "\n\nFirms must keep records for five years.\n\nEnquiries should be sent to the usual address."
)


@pytest.mark.parametrize(
    ("title", "head", "number"),
    [
        ("Fund fees", "Circular CSSF 26/911\n\nFund fees", "Circular CSSF 26/911"),
        ("Tariffs", "PUBLIC NOTICE\nRef. TRA/CG/N/2026/44", "TRA/CG/N/2026/44"),
        ("Remote pilots", "Subject: Remote pilots    Date: 3/4/26    AC No: 107-2B\nInitiated by: AFS-800", "107-2B"),
        ("Cots", "Release Number: 26-118\nJune 2, 2026", "26-118"),
        ("Deposits", "Financial Institution Letter\nFIL-22-2026\nMay 7, 2026", "FIL-22-2026"),
        ("Maize", "LEGAL NOTICE NO. 88\n\nTHE CROPS ACT\n(Cap. 318)", "LEGAL NOTICE NO. 88"),
        ("Ports", "THE GOVERNMENT\n-------\nNo: 77/2026/ND-CP\n\nHanoi, May 4, 2026", "77/2026/ND-CP"),
        ("Steel", "S.O. 2211(E)\nNew Delhi, the 4th May, 2026", "S.O. 2211(E)"),
        ("Prices", "[Docket No. RM25-9-000; Order No. 931]\n(Issued January 22, 2026)", "Order No. 931"),
        ("Prices", "FERC\n\n[Docket No. RM25-9-000]", "RM25-9-000"),
        ("Tools", "MAS Notice FAA-N31 (Amendment) 2026\n5 January 2026", "MAS Notice FAA-N31 (Amendment) 2026"),
        (
            "Tugs",
            "GOVERNMENT NOTICE\nNo. R. 5120          7 August 2026\nPORTS ACT (ACT NO. 12 OF 2005)",
            "No. R. 5120",
        ),
        ("Wallets", "Issued on: 14 March 2026    BNM/RH/PD 029-71", "BNM/RH/PD 029-71"),
        ("Loans", "RBI/2026-27/64\n\nAugust 6, 2026", "RBI/2026-27/64"),
        ("Plants", "F2026L01377, registered 4 November 2026", "F2026L01377"),
        ("2025_7412 Guarantees", "Question ID: 2025_7412\nLegal act: Regulation (EU) No 575/2013", "2025_7412"),
        ("Review", "This order is the ASIC Corporations (Options) Instrument 2026/240.", "Instrument 2026/240"),
        ("Review 2027-32", "Main Estimates 2026-27\nISBN 978-0-660-12345-6", None),
        ("Review", "Telephone: 0300 123 4567\nFirm Reference Number: 918204\nQ3-2026", None),
        ("Review", "Notice on the Fuel Order 2019\n\nSee Circular 4/2019 for terms.", None),
    ],
)
def test_a_code_at_the_head_is_the_number(title: str, head: str, number: str | None) -> None:
    own = find_own_number(DocumentText(title, head + BODY))
    assert (own.number if own else None) == number


@pytest.mark.parametrize(
    ("head", "issuers"),
    [
        ("Medicines and Healthcare products Regulatory Agency\n\nNotice", None),
        ("GOV.UK\n\nNotice\n\nFrom: Food and Fish Standards Agency\nPublished 26 February 2026", None),
        (
            "9.6.2026\n\nTHE EUROPEAN PARLIAMENT AND THE COUNCIL OF THE EUROPEAN UNION,\nHaving regard to the Treaty",
            ["THE EUROPEAN PARLIAMENT", "THE COUNCIL OF THE EUROPEAN UNION"],
        ),
        (
            "We, Ann Lee, Director of Plants, and Bo Roy, Director of Soil, make the following determination.",
            ["Director of Plants", "Director of Soil"],
        ),
        ("I, Dana Whitlock, delegate of the Bee Commission, make the following instrument.", ["Bee Commission"]),
        (
            "The Minister of Bees published it.\n\nThe Governor General in Council, on advice, makes the Regulations.",
            ["Governor General in Council"],
        ),
        (
            "Board of Governors of the Reserve System\nDeposit Corporation\nOffice of the Comptroller of the Currency",
            [
                "Board of Governors of the Reserve System",
                "Deposit Corporation",
                "Office of the Comptroller of the Currency",
            ],
        ),
        (
            "STATE OF MAINE\nDEPARTMENT OF BANKING\n\nIn the Matter of\nORCHARD LANE CREDIT UNION",
            ["DEPARTMENT OF BANKING"],
        ),
        ("Proposal for a\nREGULATION OF THE EUROPEAN PARLIAMENT AND OF THE COUNCIL\non bees", []),
        ("Search Results\n\nBy default the table shows three months.", []),
    ],
)
def test_an_issuer_stands_at_the_head_or_enacts(head: str, issuers: list[str] | None) -> None:
    expected = [head.partition("From: ")[2].partition("\n")[0] or head.partition("\n")[0]]
    found = read_signature(DocumentText("Rules on bees", head + BODY), issuer=None, is_issued=True)
    assert found.issuers == (expected if issuers is None else issuers)


def test_the_issuer_of_the_page_gives_way_to_the_one_that_the_text_names() -> None:
    letter = DocumentText("Disclosure", "Basel Committee on Banking Supervision\n\nStandard\nDisclosure" + BODY)
    assert read_signature(letter, issuer="Bank for Settlements", is_issued=True).issuers == [
        "Basel Committee on Banking Supervision"
    ]
    news = DocumentText("Statistics", "The Lakes Water Authority (LWA) has released its figures." + BODY)
    assert read_signature(news, issuer="Lakes Water Authority", is_issued=False).issuers == ["Lakes Water Authority"]
    assert read_signature(news, issuer="Daily Courier", is_issued=False).issuers == []
    guide = DocumentText("Guide", "It explains how the Lakes Water Authority (LWA) reads the code." + BODY)
    assert read_signature(guide, issuer="LWA", is_issued=True).issuers == ["Lakes Water Authority"]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Press Release\nSep 02, 2026\n\nThe Commission adopted the rules.", None),
        ("Date modified: 2026-06-19\n\nThe rules apply.", None),
        ("New Delhi, dated 3rd September, 2026\n\nThe rules apply.", dt.date(2026, 9, 3)),
        ("IN WITNESS WHEREOF I have set my hand this 2nd day of October 2026.", dt.date(2026, 10, 2)),
        ("The rules apply.\n\n(SGD)\nTHE SECRETARY\n21ST SEPTEMBER 2026", dt.date(2026, 9, 21)),
    ],
)
def test_a_day_is_when_a_document_was_made_and_not_when_its_page_was(text: str, day: dt.date | None) -> None:
    assert read_signature(DocumentText("Rules on bees", text), issuer=None, is_issued=True).made_on == day


@pytest.mark.parametrize(
    ("stage", "sentence", "expected"),
    [
        ("final", "The Bee Rules 2015 shall cease to have effect on 1 May 2027.", ["repeals Bee Rules 2015"]),
        (
            "final",
            "Circulars 12/2019, 3/2020 and 4/2021 are hereby superseded.",
            ["replaces Circular 12/2019", "replaces Circular 3/2020", "replaces Circular 4/2021"],
        ),
        ("final", "It takes the place of the Bee (Fees) Order 2014.", ["replaces Bee (Fees) Order 2014"]),
        ("final", "In Regulation (EU) 2019/1020, Article 4 is replaced by the following:", ["amends (EU) 2019/1020"]),
        ("final", "The Bank rescinds its Directive BSD/3/2018 on agents.", ["repeals BSD/3/2018"]),
        (
            "final",
            "The following is repealed from the same date: JC 2021 19, Joint Guidelines on bee data.",
            ["repeals JC 2021 19"],
        ),
        (
            "repeal",
            "Section 4 of the Bees Act 1980 and regulation 3 of the Honey Order 1984 are revoked.",
            ["repeals Bees Act 1980", "repeals Honey Order 1984"],
        ),
        ("amendment", "For regulation 7 of the Bee Label Rules 2013 substitute—", ["amends Bee Label Rules 2013"]),
        ("final", "The Board, acting under section 12 of the Bees Act 2001, makes rules.", ["based_on Bees Act 2001"]),
        (
            "final",
            "In our paper “Statutory consultation on bees” we asked.",
            ["based_on Statutory consultation on bees"],
        ),
        (
            "final",
            "On 3 May we gave notice in our Statutory consultation on hive rules that a condition would change.",
            ["based_on Statutory consultation on hive rules"],
        ),
        ("final", "These rules give effect to Article 9 of Directive (EU) 2023/970.", ["implements (EU) 2023/970"]),
        ("implementation", "These rules implement Local Law 58 of 2026.", ["implements Local Law 58 of 2026"]),
        ("qa", "The Bee Filter Regulations (SOR/2026-58) ban mites.", ["interprets SOR/2026-58"]),
        (
            "interpretation",
            "We read Condition 25A (Queue Checks) narrowly.",
            ["interprets Condition 25A (Queue Checks)"],
        ),
        ("final", "Firms that were licensed under the Bees Act 1966 keep their licences.", []),
        ("final", "This notice does not amend or replace Notice 637.", []),
        ("final", "We will consult next year on repealing the Honey Code 2009.", []),
        ("final", "The Minister withdrew the Honey Code in 2012.", []),
        ("final", "The 2020 Standard, which replaced Standard 14-2, stays in force.", []),
        ("consultation", "We propose to revoke the Honey Code 2004 and replace Notice 12.", []),
        ("enforcement", "Acme breached Rule 4.2 of the Hive Rules and section 7 of the Bees Act 1986.", []),
    ],
)
def test_a_sentence_says_what_is_done_to_others(stage: str, sentence: str, expected: list[str]) -> None:
    document = DocumentText("Decision on certain matters", sentence)
    found = read_relations(
        document, document.read_sentences(DayBase(None, None)), stage=PolicyStage(stage), number=None
    )
    assert [f"{relation.type} {relation.number or relation.title}" for relation in found] == expected


def test_a_schedule_of_repeals_lists_what_is_repealed() -> None:
    text = (
        "3 Schedule\nEach instrument named in Schedule 1 is repealed.\n\nSchedule 1—Repeals\n"
        "Biosecurity (Cut Stems) Determination 2019\nBiosecurity (Dried Kelp) Determination 2020\n\n"
        "Note: goods are dealt with in another determination, the Biosecurity (Goods) Determination 2025, as before."
    )
    document = DocumentText("Biosecurity Repeal Determination 2026", text)
    found = read_relations(
        document, document.read_sentences(DayBase(None, None)), stage=PolicyStage.REPEAL, number=None
    )
    assert [relation.title for relation in found] == [
        "Biosecurity (Cut Stems) Determination 2019",
        "Biosecurity (Dried Kelp) Determination 2020",
    ]


def test_an_explanation_is_of_the_document_that_its_title_names() -> None:
    document = DocumentText("FAQs on the Notice on Bee Tools", "Notice on Bee Tools (BEE-N31)\n\nQ1. Is a hive a tool?")
    found = read_relations(document, document.read_sentences(DayBase(None, None)), stage=PolicyStage.QA, number=None)
    assert [(relation.number, relation.title) for relation in found] == [("BEE-N31", "Notice on Bee Tools")]
