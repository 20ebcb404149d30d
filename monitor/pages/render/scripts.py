"""What is run inside the page, by us: to see when it rests, and to have a list show the rest of itself."""

HAS_SCRIPTS = "() => document.scripts.length > 0"
TEXT_LENGTH = "() => document.body ? document.body.innerText.trim().length : 0"

# A page that is mostly links with texts as long as titles. Others are not made to grow: an article that goes on
# with the next article when it is scrolled would end up with a text that nobody wrote.
_IS_LIST = """
  const isList = () => {
    let titles = 0, length = 0;
    for (const link of document.links) {
      const text = link.textContent.trim();
      length += text.length;
      if (text.length >= 8) titles += 1;
    }
    return titles >= 5 && document.body !== null && length >= 0.4 * document.body.innerText.trim().length;
  };
"""

UNTIL_QUIET = f"""({{quietMs, rounds, seen, maxRounds}}) => new Promise(resolve => {{
  {_IS_LIST}
  let timer;
  const grow = () => {{
    const root = document.scrollingElement, found = document.links.length;
    if (rounds >= maxRounds || found <= seen || !root || root.scrollHeight <= innerHeight || !isList()) return false;
    rounds += 1;
    seen = found;
    scrollTo({{top: root.scrollHeight, behavior: 'instant'}});
    return true;
  }};
  const wait = () => {{ clearTimeout(timer); timer = setTimeout(end, quietMs); }};
  const end = () => {{
    if (grow()) {{ wait(); return; }}
    observer.disconnect();
    resolve([rounds, seen]);
  }};
  const observer = new MutationObserver(wait);
  observer.observe(document, {{childList: true, subtree: true, characterData: true}});
  grow();
  wait();
}})"""
"""Resolves once the document has not changed for `quietMs`, with `[rounds, seen]`.

A list longer than the window is scrolled to its end at once, and again each time that it has more links than the
last time (`seen`), at most until `rounds` is `maxRounds`. A page that does not grow loses no time by this.
"""

LOAD_MORE = f"""({{seen}}) => {{
  {_IS_LIST}
  const found = document.links.length;
  if (found <= seen || !document.body || !isList()) return -1;
  const words = new RegExp('^[\\\\s+>»▼▾↓·.…]*(?:' +
    '(?:点击|點擊)?(?:加载|加載|载入|載入|查看|显示|顯示|展开|展開|浏览|瀏覽)?更多' +
    '(?:内容|信息|新闻|文章|结果|数据|公告|通知)?' +
    '|もっと(?:見る|読む|表示)|더\\\\s?보기|mehr (?:laden|anzeigen)' +
    '|(?:load|show|view|see) more(?: [a-z]+)?)[\\\\s+>»▼▾↓·.…]*$', 'i');
  const stays = element => {{
    if (element.form || element.disabled || element.getClientRects().length === 0) return false;
    const link = element.closest('a');
    return !link || /^(#.*|javascript:.*)?$/i.test((link.getAttribute('href') || '').trim());
  }};
  const isButton = element => element.matches('button, a, input, [role=button]') ||
    getComputedStyle(element).cursor === 'pointer' || /more|load/i.test(element.id + ' ' + element.className);
  let button = null;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {{
    if (node.data.length > 60 || !words.test(node.data.trim())) continue;
    const element = node.parentElement.closest('button, a, [role=button]') || node.parentElement;
    if (isButton(element) && stays(element)) button = element;
  }}
  for (const input of document.querySelectorAll('input[type=button]'))
    if (words.test(input.value) && stays(input)) button = input;
  if (button === null) return -1;
  button.click();
  return found;
}}"""
"""Presses the button that shows more of a list, the last one on the page.

Answers the number of links that the page had, or -1 where it has no more of them than `seen`, is no list or has no
such button. A link that leads to another address is none: it is a way to a section, not to more of this list.
"""
