// One function, called by tab.py in an isolated world of the page. It returns what its action does:
//
// look   Waits until the page stands still, and says how it stands: its HTML and URL, a signature of
//        its rows, whether its list is there, how it could be extended, how often it was scrolled, whether the page
//        awaits an answer (which the browser may have), and, where the list is not there yet, in how many milliseconds
//        the first timer runs out that may bring it.
//        A page that has set nothing going (outstanding.js) stands still at once; another one when it has not changed
//        for `quietMs`, or has changed, but not in its rows, for four times as long. With `waitMs`, the first change
//        is waited for so long. Nothing is waited for longer than `mostMs`. With `hasAnswers`, the browser waits for
//        no answer any more, and the page gets those that have come first.
//        A list longer than the window is scrolled to its end, where the page takes note of that, and again whenever
//        it has more links than the last time, at most `most` times.
// press  Presses the button that shows more of a list. `look` says 'button' where there is one, has not been pressed
//        `most` times, and brought new links the last time, and 'goes on' where the list could be extended further, or
//        the page still waits for what it asked for when it was extended last.
({action, most, quietMs, waitMs, mostMs, hasAnswers, loadMoreWords}) => {
  const asked = globalThis.asked ??= {scrolls: 0, linksThen: -1, presses: 0, linksBefore: -1, awaitedThen: Infinity};

  // A page that is mostly links with texts as long as titles. Others are not extended: an article that loads the next
  // article when it is scrolled would end up with a text that nobody wrote.
  const isList = () => {
    let titles = 0, length = 0;
    for (const link of document.links) {
      const text = link.textContent.trim();
      length += text.length;
      if (text.length >= 8) titles += 1;
    }
    return titles >= 5 && document.body !== null && length >= 0.4 * document.body.innerText.trim().length;
  };

  const words = new RegExp(`^[\\s+>»▼▾↓·.…]*(?:更多|${loadMoreWords})[\\s+>»▼▾↓·.…]*$`, 'i');
  const stays = element => {
    if (element.form || element.disabled || element.getClientRects().length === 0) return false;
    const link = element.closest('a');
    return !link || /^(#.*|javascript:.*)?$/i.test((link.getAttribute('href') || '').trim());
  };
  const isButton = element => element.matches('button, a, input, [role=button]') ||
    getComputedStyle(element).cursor === 'pointer' || /more|load/i.test(element.id + ' ' + element.className);

  // The last one on the page. A link to another address is none: it leads to a section.
  const buttonForMore = () => {
    let button = null;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.data.length > 60 || !words.test(node.data.trim())) continue;
      const element = node.parentElement.closest('button, a, [role=button]') || node.parentElement;
      if (isButton(element) && stays(element)) button = element;
    }
    for (const input of document.querySelectorAll('input[type=button]'))
      if (words.test(input.value) && stays(input)) button = input;
    return button;
  };

  const attempt = (read, otherwise) => {
    try { return read(); } catch { return otherwise; /* the page replaced what is looked at */ }
  };

  const outstanding = () => {
    let said = null;
    const hear = event => {
      const read = attempt(() => JSON.parse(event.detail), null);
      said = Array.isArray(read?.timers) ? read : null;  // else the page answered in its place
    };
    document.addEventListener('monitor:outstanding-is', hear);
    document.dispatchEvent(new Event('monitor:outstanding'));
    document.removeEventListener('monitor:outstanding-is', hear);
    return said;
  };
  const mayChangeSoon = said => said === null || said.isElsewhere || said.isFramed ||
    said.interval !== null && said.interval <= quietMs || said.timers.some(delay => delay <= quietMs) ||
    document.querySelector('iframe, frame, object') !== null ||
    document.getAnimations().some(animation => animation.playState === 'running');

  // What a reader would call another list: other links, other texts of links, other elements.
  const rows = () => {
    let length = 0;
    for (const link of document.links) length += link.href.length + link.textContent.length;
    return `${document.links.length} ${document.getElementsByTagName('*').length} ${length}`;
  };

  const date = new RegExp('\\d{4}\\s*[-/.年]\\s*\\d{1,2}|\\d{1,2}\\s*[-/.月]\\s*\\d{1,2}|' +
    '\\d\\s*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?\\s*\\d', 'i');
  const hasList = () => {
    if (document.links.length < 3) return false;
    let dates = 0;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && dates < 3; node = walker.nextNode())
      if (date.test(node.data) && !node.parentElement.closest('script, style, noscript')) dates += 1;
    return dates >= 3;
  };
  // Nearly nothing, or a place where a list would stand and does not.
  const lacksList = () => {
    if (!document.body || document.body.innerText.trim().length < 200) return true;
    const places = 'ul, ol, dl, tbody, [class*=list i], [id*=list i], [class*=skeleton i], [class*=loading i], [aria-busy=true]';
    for (const place of document.querySelectorAll(places))
      if (place.textContent.trim().length < 20 && !place.querySelector('a[href], img, input, svg')) return true;
    return false;
  };

  const turn = () => new Promise(resolve => setTimeout(resolve, 0));
  // A busy machine draws late, and hands over answers late: what is bound to come is waited for so long.
  const patienceMs = Math.min(mostMs, 20 * quietMs);
  // Two frames, after which observers and listeners for scrolling were told; a hidden tab is never drawn.
  const frames = () => new Promise(resolve => {
    setTimeout(resolve, document.hidden ? 4 * quietMs : patienceMs);
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 0)));
  });
  // Until the page has got the answers that the browser has.
  const receive = async () => {
    const until = performance.now() + patienceMs;
    while (outstanding()?.awaited > 0 && performance.now() < until) await turn();
  };
  const quiet = firstMs => new Promise(resolve => {
    let timer, before = rows(), since = performance.now();
    const end = () => { clearTimeout(timer); clearTimeout(bound); observer.disconnect(); resolve(); };
    const bound = setTimeout(end, mostMs);
    const observer = new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(end, quietMs);
      const now = performance.now();
      if (now - since < 4 * quietMs) return;
      const after = rows();
      if (after === before) end();
      before = after;
      since = now;
    });
    observer.observe(document, {childList: true, subtree: true, characterData: true});
    timer = setTimeout(end, firstMs);
  });

  const scroll = said => {
    const root = document.scrollingElement, links = document.links.length;
    if (said !== null && !said.canScroll) return false;
    if (asked.scrolls >= most || links <= asked.linksThen || !root || root.scrollHeight <= innerHeight) return false;
    if (!isList() || buttonForMore()) return false;
    asked.scrolls += 1;
    asked.linksThen = links;
    asked.awaitedThen = said?.awaited ?? Infinity;
    scrollTo({top: root.scrollHeight, behavior: 'instant'});
    return true;
  };

  const more = () => {
    const links = document.links.length, hasButton = buttonForMore() !== null;
    if (!hasButton && !asked.scrolls || !isList()) return '';
    const isAwaited = outstanding()?.awaited > asked.awaitedThen;
    if (!hasButton) return links > asked.linksThen || isAwaited ? 'goes on' : '';
    if (!(links > asked.linksBefore)) return isAwaited ? 'goes on' : '';
    return asked.presses >= most ? 'goes on' : 'button';
  };

  const look = async () => {
    const started = performance.now();
    if (hasAnswers) await receive();
    let said = outstanding();
    if (waitMs) await quiet(waitMs);
    else if (attempt(() => scroll(said), false) || said?.isObserving) await frames();
    for (let isQuiet = Boolean(waitMs); performance.now() - started < mostMs;) {
      said = outstanding();
      if (!isQuiet && mayChangeSoon(said)) {
        await quiet(quietMs);
        isQuiet = true;
      } else {
        const before = rows();
        await turn();
        if (rows() !== before) continue;
        if (!attempt(() => scroll(said), false)) break;
        await frames();
        isQuiet = false;
      }
    }
    const isThere = attempt(hasList, false);
    const late = said === null ? [] : [...said.timers, said.interval ?? Infinity].filter(delay => delay < mostMs);
    return {
      rows: rows(),
      hasList: isThere,
      more: attempt(more, ''),
      scrolls: asked.scrolls,
      isAwaited: outstanding()?.awaited > 0,
      lateMs: late.length && !isThere && attempt(lacksList, false) ? Math.min(...late) : null,
      url: location.href,
      html: serialize(),
    };
  };

  const serialize = () => {
    const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '';
    return type + (document.documentElement ? document.documentElement.outerHTML : '');
  };

  const press = () => {
    const button = buttonForMore();
    if (button === null) return false;
    asked.presses += 1;
    asked.linksBefore = document.links.length;
    asked.awaitedThen = outstanding()?.awaited ?? Infinity;
    button.click();
    return true;
  };

  return action === 'press' ? press() : look();
}
