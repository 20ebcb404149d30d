// One function, called by tab.py in an isolated world of the page. It returns what its action does:
//
// waitUntilQuiet  Resolves once the document has not changed for `quietMs`. A list longer than the window is scrolled to
//                 its end at once, and again whenever it has more links than the last time, at most `most` times. This
//                 costs no time on a page that does not grow.
// showMore        Presses the button that shows more of a list, at most `most` times, as long as it brings new links.
//                 Returns 'pressed' if it did, and 'goes on' if the list could be extended further by its button or by
//                 scrolling.
({action, most, quietMs, loadMoreWords}) => {
  const asked = globalThis.asked ??= {scrolls: 0, linksThen: -1, presses: 0, linksBefore: -1};

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

  const waitUntilQuiet = () => new Promise(resolve => {
    let timer;
    const scrolled = () => {
      const root = document.scrollingElement, links = document.links.length;
      if (asked.scrolls >= most || links <= asked.linksThen || !root || root.scrollHeight <= innerHeight) return false;
      if (!isList() || buttonForMore()) return false;
      asked.scrolls += 1;
      asked.linksThen = links;
      scrollTo({top: root.scrollHeight, behavior: 'instant'});
      return true;
    };
    const wait = () => { clearTimeout(timer); timer = setTimeout(end, quietMs); };
    const end = () => {
      let goesOn = false;
      try { goesOn = scrolled(); } catch { /* the page replaced what we look at: it is taken as it is */ }
      if (goesOn) { wait(); return; }
      observer.disconnect();
      resolve(true);
    };
    const observer = new MutationObserver(wait);
    observer.observe(document, {childList: true, subtree: true, characterData: true});
    try { scrolled(); } catch { /* as above */ }
    wait();
  });

  const showMore = () => {
    if (!isList()) return '';
    const links = document.links.length, button = buttonForMore();
    if (button === null) return asked.scrolls > 0 && links > asked.linksThen ? 'goes on' : '';
    if (!(links > asked.linksBefore)) return '';
    if (asked.presses >= most) return 'goes on';
    asked.presses += 1;
    asked.linksBefore = links;
    button.click();
    return 'pressed';
  };

  return action === 'showMore' ? showMore() : waitUntilQuiet();
}
