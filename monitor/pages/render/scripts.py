"""What is run inside the page, by us: to see when it rests, and to have a list show the rest of itself.

All of it runs in a world of its own (`world.py`), whose `globalThis` the page's scripts do not see. `asked` there
remembers, for as long as the document lasts, how often its list was scrolled and its button pressed, and how many
links it had before the last time.
"""

from monitor.pages.pagerwords import MORE_WORDS

HAS_SCRIPTS = "() => document.querySelector('script') !== null"
IS_NEARLY_EMPTY = "() => !document.body || document.body.innerText.trim().length < 200"

_LIST = f"""
  const asked = globalThis.asked ??= {{scrolls: 0, linksThen: -1, presses: 0, linksBefore: -1}};
  // A page that is mostly links with texts as long as titles. Others are not made to grow: an article that goes on
  // with the next article when it is scrolled would end up with a text that nobody wrote.
  const isList = () => {{
    let titles = 0, length = 0;
    for (const link of document.links) {{
      const text = link.textContent.trim();
      length += text.length;
      if (text.length >= 8) titles += 1;
    }}
    return titles >= 5 && document.body !== null && length >= 0.4 * document.body.innerText.trim().length;
  }};
  const words = /^[\\s+>»▼▾↓·.…]*(?:更多|{MORE_WORDS})[\\s+>»▼▾↓·.…]*$/i;
  const stays = element => {{
    if (element.form || element.disabled || element.getClientRects().length === 0) return false;
    const link = element.closest('a');
    return !link || /^(#.*|javascript:.*)?$/i.test((link.getAttribute('href') || '').trim());
  }};
  const isButton = element => element.matches('button, a, input, [role=button]') ||
    getComputedStyle(element).cursor === 'pointer' || /more|load/i.test(element.id + ' ' + element.className);
  // The last one on the page. A link that leads to another address is none: it is a way to a section.
  const buttonForMore = () => {{
    let button = null;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {{
      if (node.data.length > 60 || !words.test(node.data.trim())) continue;
      const element = node.parentElement.closest('button, a, [role=button]') || node.parentElement;
      if (isButton(element) && stays(element)) button = element;
    }}
    for (const input of document.querySelectorAll('input[type=button]'))
      if (words.test(input.value) && stays(input)) button = input;
    return button;
  }};
"""

UNTIL_QUIET = f"""({{quietMs, most}}) => new Promise(resolve => {{
  {_LIST}
  let timer;
  const scrolled = () => {{
    const root = document.scrollingElement, links = document.links.length;
    if (asked.scrolls >= most || links <= asked.linksThen || !root || root.scrollHeight <= innerHeight) return false;
    if (!isList() || buttonForMore()) return false;
    asked.scrolls += 1;
    asked.linksThen = links;
    scrollTo({{top: root.scrollHeight, behavior: 'instant'}});
    return true;
  }};
  const wait = () => {{ clearTimeout(timer); timer = setTimeout(end, quietMs); }};
  const end = () => {{
    let goesOn = false;
    try {{ goesOn = scrolled(); }} catch {{ /* the page bent what we look at: it is taken as it stands */ }}
    if (goesOn) {{ wait(); return; }}
    observer.disconnect();
    resolve(true);
  }};
  const observer = new MutationObserver(wait);
  observer.observe(document, {{childList: true, subtree: true, characterData: true}});
  try {{ scrolled(); }} catch {{ /* as above */ }}
  wait();
}})"""
"""Resolves once the document has not changed for `quietMs`.

A list longer than the window is scrolled to its end at once, and again each time that it has more links than the
last time, at most `most` times. A page that does not grow loses no time by this.
"""

PRESSED = "pressed"
GOES_ON = "goes on"

SHOW_MORE = f"""({{most}}) => {{
  {_LIST}
  if (!isList()) return '';
  const links = document.links.length, button = buttonForMore();
  if (button === null) return asked.scrolls > 0 && links > asked.linksThen ? '{GOES_ON}' : '';
  if (!(links > asked.linksBefore)) return '';
  if (asked.presses >= most) return '{GOES_ON}';
  asked.presses += 1;
  asked.linksBefore = links;
  button.click();
  return '{PRESSED}';
}}"""
"""Presses the button that shows more of a list, at most `most` times, if the last time brought something.

`PRESSED` says that it was; `GOES_ON` that the list, by its button or as it was scrolled, could be asked for more.
"""
