"""The words beside a date that say what kind of day it is: that of posting, a deadline, another."""

import re
from typing import Literal

DayKind = Literal["posted", "filed", "plain", "other", "event"]

_POSTED = re.compile(
    r"发布|公布|公开|发文|刊登|登载|上网|印发|發布|公佈|掲載|公開|公表|公告日|게시|등록|작성|공고일|보도일|"
    r"\bpost(?:ed|ing)\b|publi|release|handed down|date added|uploaded|veröffentlich|opublikowan|data dodania|"
    r"опубликован|размещен|yayın|ngày đăng|gepubliceerd|geplaatst|diterbitkan|tanggal terbit|نشر",
    re.IGNORECASE,
)
_FILED = re.compile(r"\b(?:filed|issued|announced|dated)\b", re.IGNORECASE)
_EVENT = re.compile(
    r"截止|截至|有效|会议时间|开庭|生效|施行|实施|来信|開催|締切|〆切|期限|마감|기한|시행|deadline|expir|clos(?:ing|es)|"
    r"hearing|\bdue\b|effective|in force|\bnext\b|trial|event date|comments? by|respond by|until|\bends?\b|frist|"
    r"inkraft|gültig|plazo|límite|vencimiento|vigor|clôture|limite|échéance|audience|prazo|encerramento|vigência|scadenza|"
    r"termin\b|wejści|срок|окончан|вступ|son tarih|bitiş|hạn|hiệu lực|sluit|inwerking|sista dag|senast|ikraft|batas|"
    r"berlaku|الموعد|آخر|سريان",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"成文|制定|更新|修订|수정|decided|decision date|argued|updated|modified|reviewed|revised|opened|started?|meeting|"
    r"session|aktualisiert|actualiza|modifi|mis à jour|aggiornat|atualiza|zmian|aktualiz|обновл|изменен|güncelle|"
    r"cập nhật|bijgewerkt|gewijzigd|uppdaterad|ändrad|diperbarui|تحديث",
    re.IGNORECASE,
)


def classify_label(label: str) -> DayKind:
    """Return what kind of day a label or column heading announces; `plain` where it says nothing of the kind."""
    kinds: tuple[tuple[DayKind, re.Pattern[str]], ...] = (
        ("event", _EVENT),
        ("posted", _POSTED),
        ("filed", _FILED),
        ("other", _OTHER),
    )
    return next((kind for kind, words in kinds if words.search(label)), "plain")
