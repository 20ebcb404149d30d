"""The words of pagers: what they call the next page, the previous, the first and the last."""

import re

_PAGE = (
    r"(?:page|seite|p[áa]gina|pagina|strona|str[áa]nka|strana|stran|stranica|oldal|sivu|sida|side|sayfa|halaman|trang|"
    r"страница|сторінка|σελίδα|الصفحة|صفحه|صفحة|หน้า|पृष्ठ|পাতা|পৃষ্ঠা|lehek[üu]lg|lapa|puslapis|faqe|бет)"
)
_NEXT = (
    r"下\s*一?\s*[页頁]|后\s*一?\s*页|後\s*一?\s*頁|次へ|次の?ページ|次の\d+件|次|"
    r"다음(?:\s?페이지)?|(?:show\s+|view\s+|go\s+to\s+(?:the\s+)?)?next(?:\s+(?:page|results?|set\s+of\s+results|\d+))?|more\s+results|"
    r"older(?:\s+(?:posts?|entries))?"
    rf"|(?:{_PAGE}\s*)?(?:n[äa]chste|weiter|vorwärts|suivante?s?|siguientes?|seguintes?|següent|pr[óo]xim[ao]|"
    r"successiv[aoe]?|avanti|volgende|neste|nästa|næste|seuraavat?|następn[aey]|další|ďalš(?:ia|í|ie)|sljedeć[aei]|"
    r"naslednj[aei]|sonraki|următoarea|következő|hurrengoa|järgmine|nākam[āa]|kitas|tjetra|"
    r"следующ(?:ая|ие)|вперед|далее|наступн[аі]|следващ[аи]|следна|επόμεν[ηοα]|επομενη|келесі|keyingi|"
    r"selanjutnya|berikutnya|seterusnya|sau|tiếp(?:\s+theo)?|التالية?|بعدی?|הבא|ถัดไป|अगला|পরবর্তী)"
    rf"(?:\s*{_PAGE})?"
)
_PREVIOUS = (
    r"上\s*一?\s*[页頁]|前\s*一?\s*[页頁]|前へ|이전|prev(?:ious)?(?:\s+page)?|newer(?:\s+posts?)?|"
    rf"(?:{_PAGE}\s*)?(?:zurück|vorherige|précédente?|anterior|vorige|forrige|föregående|edellinen|poprzednia|"
    r"předchozí|önceki|előző|предыдущая|назад|попередня|предишна|προηγούμεν[ηο]|sebelumnya|trước|السابقة?|قبلی|הקודם|"
    rf"ก่อนหน้า|पिछला|পূর্ববর্তী)(?:\s*{_PAGE})?"
)
_ENDS = (
    r"首\s*[页頁]|第一[页頁]|尾\s*[页頁]|末\s*[页頁]|最后一?页|最後一?頁|first(?:\s+page)?|last(?:\s+page)?|erste|letzte"
    r"|최초|처음|마지막|最初|最後|跳转|跳轉|go|確定|确定"
)
_EDGE = r"[\s\[\]()（）【】<>«»‹›→←»…|:：.&;▶►▸⟩-]*"

NEXT_WORD = re.compile(rf"^{_EDGE}(?:{_NEXT}){_EDGE}$", re.IGNORECASE)
"""A link text that says nothing but "next page"."""

MORE_WORDS = (
    r"(?:点击|點擊|上拉|下拉|滑动|滑動|滚动|滾動)?(?:加载|加載|载入|載入|查看|显示|顯示|展开|展開|浏览|瀏覽)(?:更多|下一?[页頁])"
    r"(?:内容|內容|信息|资讯|新闻|新聞|文章|结果|結果|数据|公告|通知)?"
    r"|点击更多|點擊更多|もっと(?:見る|読む|表示)(?:する)?|さらに(?:表示|読み込む)|더\s?보기|mehr (?:laden|anzeigen)"
    r"|afficher plus|charger plus|cargar más|ver más|mostrar más|carregar mais"
    r"|(?:load|show|view|see) more(?: [a-z]+)?"
)
"""What a button says that shows more of a list in the same page: a pattern for Python and JavaScript alike."""

NEXT_SIGNS = ("›", ">", "→", "»", ">>", "＞", "▶", "►", "&gt;", "❯", "⟩")
"""Signs that mean "next" where a pager shows no word; the doubled ones may also mean "last"."""

_PAGER = re.compile(
    rf"^{_EDGE}(?:{_NEXT}|{_PREVIOUS}|{_ENDS}|第?\s*\d{{1,4}}\s*[页頁]?|(?:page|seite|página|"
    rf"p\.)\s*\d{{1,4}}){_EDGE}$|^[\s<>«»‹›→←….·|-]+$",
    re.IGNORECASE,
)


def is_pager_text(text: str) -> bool:
    """Whether a link text belongs to a pager: a bare number, next, previous, first, last."""
    return len(text) <= 24 and bool(text) and _PAGER.match(text) is not None
