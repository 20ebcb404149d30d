// Runs in every document before its own scripts, in their world. It counts what a page has set going that no request
// shows: timers, frames of an animation, workers, stores, observers, and answers that have arrived in the browser and
// not yet in the page. list.js asks for it by an event, which works from one world to another. A page that tampers with this is taken earlier or later, no more.
(() => {
  const due = new Map(), intervals = new Map();
  let framedAt = -Infinity, idle = 0, isElsewhere = false, isObserving = false, hasScrolling = false;
  let awaited = 0;
  const after = (name, note) => {
    if (typeof globalThis[name] !== 'function') return;
    globalThis[name] = new Proxy(globalThis[name], {
      apply(target, self, given) {
        const answer = Reflect.apply(target, self, given);
        note(answer, given);
        return answer;
      },
    });
  };
  const built = (name, note) => {
    if (typeof globalThis[name] !== 'function') return;
    globalThis[name] = new Proxy(globalThis[name], {
      construct(target, given, kind) { note(); return Reflect.construct(target, given, kind); },
    });
  };
  const delayOf = given => Math.max(0, Number(given[1]) || 0);
  const prune = now => { for (const [id, at] of due) if (at < now - 50) due.delete(id); };

  after('setTimeout', (id, given) => {
    const now = performance.now();
    if (due.size > 500) prune(now);
    due.set(id, now + delayOf(given));
  });
  after('setInterval', (id, given) => intervals.set(id, delayOf(given)));
  for (const name of ['clearTimeout', 'clearInterval'])
    after(name, (_, given) => { due.delete(given[0]); intervals.delete(given[0]); });
  after('requestAnimationFrame', () => { framedAt = performance.now(); });
  after('requestIdleCallback', () => { idle = performance.now(); });
  for (const name of ['Worker', 'SharedWorker', 'BroadcastChannel', 'EventSource'])
    built(name, () => { isElsewhere = true; });
  built('IntersectionObserver', () => { isObserving = true; });
  built('ResizeObserver', () => { isObserving = true; });
  for (const kind of ['IDBFactory', 'CacheStorage']) {
    const store = globalThis[kind]?.prototype;
    if (store?.open) store.open = new Proxy(store.open, {
      apply(target, self, given) { isElsewhere = true; return Reflect.apply(target, self, given); },
    });
  }
  const {then} = Promise.prototype;
  const wait = promise => {
    awaited += 1;
    const done = () => { awaited -= 1; };
    Reflect.apply(then, promise, [done, done]);
  };
  after('fetch', wait);
  for (const name of ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text']) {
    const read = Response.prototype[name];
    if (read) Response.prototype[name] = new Proxy(read, {
      apply(target, self, given) { const answer = Reflect.apply(target, self, given); wait(answer); return answer; },
    });
  }
  const listen = EventTarget.prototype.addEventListener;
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(target, self, given) {
      awaited += 1;
      Reflect.apply(listen, self, ['loadend', () => { awaited -= 1; }, {once: true}]);
      try { return Reflect.apply(target, self, given); } catch (error) { awaited -= 1; throw error; }
    },
  });
  EventTarget.prototype.addEventListener = new Proxy(listen, {
    apply(target, self, given) {
      if (given[0] === 'scroll' || given[0] === 'wheel') hasScrolling = true;
      return Reflect.apply(target, self, given);
    },
  });

  const ask = 'monitor:outstanding', answer = 'monitor:outstanding-is';
  Reflect.apply(listen, document, [ask, () => {
    const now = performance.now();
    prune(now);
    const timers = [...due.values()].map(at => Math.max(0, at - now)).sort((one, other) => one - other).slice(0, 50);
    const detail = JSON.stringify({
      timers,
      interval: intervals.size ? Math.min(...intervals.values()) : null,
      isFramed: now - framedAt < 50,
      isElsewhere: isElsewhere || now - idle < 50,
      isObserving,
      awaited,
      canScroll: hasScrolling || isObserving || Boolean(globalThis.onscroll || document.onscroll),
    });
    document.dispatchEvent(new CustomEvent(answer, {detail}));
  }]);
})();
