// Keeps the page up to date and adds keys. Every page works without it.

const { dataset } = document.body, { section } = dataset;
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const params = (of) => new URLSearchParams(of);
const allRows = () => $$("#rows > .row");
const oneColumn = () => innerWidth <= 900; // as in the stylesheet: the list or the detail
let { last, epoch } = dataset;
last = +last;

// --- one stream for all tabs ---
// Browsers allow six connections to a host. The tab that holds the lock has the
// stream and passes its messages on to the others; when it closes, the next tab
// opens it. Without HTTPS, browsers have locks only on a loopback host: under any
// other name, each tab has its own stream.

const channel = new BroadcastChannel("messaging-sandbox");
const withLock = navigator.locks
  ? (lead) => navigator.locks.request("messaging-sandbox-stream", lead)
  : (lead) => { channel.close(); lead(); };
channel.onmessage = ({ data }) => receive(data);
withLock(() => new Promise(() => {
  const source = new EventSource("/api/stream");
  const post = (message) => { if (navigator.locks) channel.postMessage(message); };
  let latest = { live: "gone" }; // with what was counted, so that a tab that asks sees the next change
  const tell = (message) => { latest = { ...latest, ...message }; receive(message); post(message); };
  source.onopen = () => tell({ live: "on" });
  source.onerror = () => tell({ live: "gone" });
  source.onmessage = ({ data }) => tell({ live: "on", ...JSON.parse(data) });
  channel.addEventListener("message", ({ data }) => { if (data.ask) post(latest); });
}));
if (navigator.locks) channel.postMessage({ ask: true });

let counted; // what the last message counted
function receive(message) {
  if (message.ask) return;
  if (message.counts) showCounts(message.counts);
  showState(message.live);
  if (!message.counts) return;
  const counts = JSON.stringify(message.counts), isNew = counted && counts !== counted;
  counted = counts;
  if (message.epoch !== epoch) { epoch = message.epoch; return startOver(); } // after a reset or a restart
  if (message.last > last || isNew) { last = message.last; refresh(); }
}

// showState shows whether the page is live, and the end of an outage.
function showState(state) {
  const live = $("#live"), { outage } = live.dataset;
  live.dataset.state = state;
  $("#stopped").hidden = state !== "gone";
  enableForms();
  live.lastElementChild.textContent = state !== "on" ? "not live"
    : outage ? "outage" : "live";
  showLeft();
}

// showLeft counts the seconds of an outage, which are not read aloud.
function showLeft() {
  const { dataset } = $("#live"), left = (new Date(dataset.outage) - new Date) / 1000;
  dataset.left = left > 0 ? `${Math.ceil(left)} s` : "";
}
setInterval(showLeft, 1000);

// enableForms switches off what needs the sandbox while it has stopped; #stopped says why.
function enableForms() {
  for (const control of $$("form button, form.search input, button[popovertarget]")) {
    control.disabled = $("#live").dataset.state === "gone";
  }
}

function showCounts({ outage_until: outage, ...counts }) {
  if (outage) $("#live").dataset.outage = outage; else delete $("#live").dataset.outage;
  for (const [name, count] of Object.entries(counts)) {
    const shown = $(`[data-count=${name}]`);
    if (shown) shown.textContent = count || name !== "faults" ? count.toLocaleString("en") : "";
  }
}

// --- new rows ---

const query = params(location.search).get("q") ?? "";
let { paged } = dataset; // the list begins at an older request
const atMost = 300; // rows that the page takes before it offers to start over
let listed = +dataset.last, unseen = 0, announced = 0, busy = false, again = false;

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    if (dataset.reload === "true") {
      await update(["#rows", "#live-part"]);
      await pause(900);
    } else if ($("#rows") && section) {
      await addRows();
      await pause(150);
    }
  } catch { /* the stream reports that the sandbox is gone */ }
  busy = false;
  if (again) { again = false; refresh(); }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function addRows() {
  const response = await fetch(`/rows?${params({ q: query, after: listed, ...($("#overview") && { overview: 1 }) })}`);
  if (!response.ok) return;
  const html = document.createRange().createContextualFragment(await response.text());
  listed = +response.headers.get("Rows-Last");
  const left = +response.headers.get("Rows-Left");
  for (const id of ["#overview", "#glance"]) {
    const now = $(id, html);
    if ($(id)?.open) now?.setAttribute("open", "");
    if (now) $(id)?.replaceWith(now);
  }
  if ($("#matches")) $("#matches").textContent = response.headers.get("Rows-Matches");
  for (const row of $$(".row", html)) {
    if ($(`#rows > .row[data-number="${row.dataset.number}"]`)) row.remove();
  }
  const rows = $$(".row", html);
  if (rows.length === 0) return;
  announce(rows.length + left, rows[0]);
  const list = $("#list"), box = $("#rows");
  if (box.children.length === 0) return startOver(); // a list has more than rows: filters, and another text beside it
  if (left > 0 || unseen > 0 || paged || (oneColumn() ? -list.getBoundingClientRect().top : list.scrollTop) > 99 || box.children.length + rows.length > atMost) {
    unseen += rows.length + left;
    const button = $("#new");
    button.hidden = false;
    button.textContent = `${unseen.toLocaleString("en")} new`;
    return;
  }
  for (const row of rows) {
    row.classList.add("fresh");
    for (const number of row.dataset.attempts?.split(" ") ?? []) removeRow(number); // they are in the new row
  }
  const height = list.scrollHeight, top = list.scrollTop;
  box.prepend(...html.children);
  for (const line of $$("#rows > [data-mark]")) {
    if ($$(`#rows > [data-mark="${line.dataset.mark}"]`).at(-1) !== line) line.remove(); // a mark stays at its first row
  }
  mark();
  if (top > 0) list.scrollTop = top + list.scrollHeight - height; // what is read stays where it is
}

// removeRow removes the row of a call with its earlier attempts.
function removeRow(number) {
  const row = `#rows > .row[data-number="${number}"]`;
  for (const part of $$(`${row}, ${row} + .attempts`)) part.remove();
}

// showNew replaces the list by its first page. The detail that is open stays.
async function showNew() {
  const page = await get(listURL());
  if (!page) return;
  $("#list").replaceWith($("#list", page));
  last = Math.max(last, +page.body.dataset.last);
  listed = +page.body.dataset.last;
  unseen = 0;
  paged = false;
  if (!$(".has-detail")) {
    history.replaceState(null, "", listURL());
    if (oneColumn()) $("#list").scrollIntoView();
  }
  mark();
}

let announcing;
function announce(count, row) {
  announced += count;
  clearTimeout(announcing);
  const text = announced > 1 ? announced : $$(".what, .tag:not(.more)", row).map((part) => part.textContent).join(", ");
  announcing = setTimeout(() => { $("#announce").textContent = `New requests: ${text}`; announced = 0; }, 1000);
}

// --- a detail without loading the page ---

// get returns a page, or null where there is none.
async function get(url) {
  try {
    const response = await fetch(url);
    return response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  } catch (error) {
    showState("gone");
    throw error;
  }
}

// update replaces parts of the page by their current content.
async function update(parts) {
  const page = await get(location.href);
  if (!page) { location.href = $(".back")?.href ?? location.pathname; return; } // the detail is no longer kept
  for (const part of parts) {
    if ($(part) && $(part, page)) $(part).replaceWith($(part, page));
  }
  return page;
}

// startOver shows another history.
async function startOver() {
  const page = await update(["#list", "#detail", "#live-part"]);
  if (!page) return;
  ({ last, epoch } = page.body.dataset);
  last = listed = +last;
  unseen = 0;
}

// depth is how many entries of the browser's history lie between the list and the detail
// that was opened from it. It is undefined if the detail was opened by its address.
const depth = () => $(".has-detail") ? history.state?.depth : 0;

let shown = location.pathname, listTop = 0, wanted;

async function load(url, { push = false } = {}) {
  wanted = url;
  const page = await get(url);
  if (wanted !== url) return; // another one was selected in the meantime
  if (!page || !$("#detail", page)) { location.href = url; return; }
  if (!$(".has-detail")) listTop = scrollY;
  if (push) history.pushState({ depth: depth() + 1 || undefined }, "", url);
  document.title = page.title;
  $("#detail").replaceWith($("#detail", page));
  $("#main").className = $("#main", page).className;
  mark();
  fitDetail();
  const left = shown;
  shown = location.pathname;
  if (!$(".has-detail")) showRow(left);
}

// showRow shows the list as it was, with the focus on the row of the detail that was left.
function showRow(path) {
  if (oneColumn()) scrollTo(0, listTop);
  const row = allRows().find((row) => row.pathname === path);
  if (row) focusRow(row);
}

function focusRow(row) {
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function mark() {
  for (const row of $$("#rows :is(.row, .attempts a)")) {
    const { pathname, dataset } = row, number = location.pathname.split("/")[2];
    row.ariaCurrent = pathname === location.pathname || dataset.attempts?.split(" ").includes(number) ? "true" : null;
  }
}

// fitDetail adds to the detail what needs a script.
function fitDetail() {
  enableForms();
  for (const current of $$("header nav [aria-current], .tabs [aria-current]")) {
    const strip = current.closest("nav"); // on a phone, it is wider than the page, which must not scroll down to it
    strip.scrollLeft += current.getBoundingClientRect().left - strip.getBoundingClientRect().left - 40;
  }
  for (const line of $$(".json [data-opens]")) {
    const button = document.createElement("button");
    line.prepend(Object.assign(button, { className: "fold", ariaExpanded: "true", ariaLabel: "Lines within" }));
  }
  const terms = query.replace(/\S+:"[^"]*"/g, "").split(/[\s"]+/).filter((term) => term.length > 1 && !term.includes(":"));
  if (window.Highlight) CSS.highlights.set("search", new Highlight(...terms.flatMap((term) => rangesOf(term.toLowerCase()))));
}

// rangesOf returns where a text occurs in the detail.
function rangesOf(term) {
  const ranges = [], walker = document.createTreeWalker($("#detail"), NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()) && ranges.length < 1000;) {
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue; // the places differ
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + term.length);
      ranges.push(range);
    }
  }
  return ranges;
}

// fold hides the lines within a value, or shows them, but not those that are folded there.
function fold(line) {
  const button = $(".fold", line), open = button.ariaExpanded !== "true";
  button.ariaExpanded = String(open);
  line.classList.toggle("folded", !open);
  let hidden = open ? Infinity : -1; // the lines that are deeper
  for (let next = line.nextElementSibling; next && +next.dataset.depth > +line.dataset.depth; next = next.nextElementSibling) {
    if (open && +next.dataset.depth <= hidden) hidden = next.matches(".folded") ? +next.dataset.depth : Infinity;
    next.hidden = +next.dataset.depth > hidden;
  }
}

addEventListener("popstate", () => location.hash === "#main" || load(location.href).catch(() => {})); // of the skip link

addEventListener("click", (event) => {
  const { target } = event, link = target.closest("a"), line = target.closest("[data-opens]");
  if (target.closest("[data-copy]")) return copy(target);
  if (target.closest("[data-step]")) return step(+target.dataset.step);
  if (line && getSelection().isCollapsed) return fold(line);
  if (target.closest("#new")) return showNew().catch(() => {});
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  if (link.matches(".back")) { event.preventDefault(); back(); }
  if (link.matches("#rows .row, .tabs a")) { event.preventDefault(); open(link, event.detail === 0 || oneColumn()); }
});

// open shows the detail of a link. With enter, the focus goes there too: otherwise the tab
// key would pass all rows first.
async function open(link, enter = false) {
  const tab = link.dataset.tab;
  const url = new URL(link.href), shown = params(location.search).get("tab");
  if (!tab && shown) url.searchParams.set("tab", shown); // the same view of the next request, if it has it
  try { await load(url.href, { push: true }); } catch { return; } // the page says that the sandbox has stopped
  if (tab) $(`[data-tab=${tab}]`)?.focus();
  else {
    $("#detail").scrollTop = 0;
    if (oneColumn()) $("#detail").scrollIntoView();
    if (enter) $("#detail").focus({ preventScroll: true });
  }
}

// back shows the list. It goes back in the browser's history if the list is there, so that
// the browser's own button leads on from the list, and not to the detail again.
function back() {
  if (depth()) history.go(-depth()); else load($(".back").href, { push: true }).catch(() => {});
}

$("#rows > .row[aria-current]")?.scrollIntoView({ block: "center" });
fitDetail();

function listURL() {
  return $("form.search").action + (query ? `?q=${encodeURIComponent(query)}` : "");
}

async function copy(button) {
  const text = $("pre", button.closest("figure"));
  if (!navigator.clipboard) return getSelection().selectAllChildren(text); // under another name than localhost
  const lines = $$(".line", text).map((line) => line.cloneNode(true));
  for (const line of lines) while ($("em", line)) $("em", line).remove(); // what the page says about it
  const { raw } = text.dataset; // where the page shows symbols in place of hidden characters
  await navigator.clipboard.writeText(raw ? JSON.parse(raw) : lines.map((line) => line.textContent).join("\n") || text.textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// --- search ---

// The browser offers what matches the whole field, so that each suggestion begins with the terms before the last.
const [field, suggestions] = $$(".search input, .search datalist"), terms = [...suggestions.children].map((option) => option.value);
field.oninput = () => {
  const before = field.value.match(/^(.* )?[-!]?/)[0];
  suggestions.replaceChildren(...terms.map((term) => new Option("", before + term)));
};

// --- faults ---

// fitRule hides the fields that the kind of fault does not use.
function fitRule() {
  const kind = $(".rule [name=kind]")?.value;
  for (const label of $$(".rule [data-kinds]")) {
    label.hidden = !label.dataset.kinds.split(" ").includes(kind);
    $("input, textarea", label).disabled = label.hidden;
  }
}
fitRule();

addEventListener("change", ({ target }) => {
  if (target.matches(".rule [name=kind]")) fitRule();
  const { dataset: { setting }, value } = target;
  if (!setting) return;
  document.cookie = `messaging-sandbox-${setting}=${value}; path=/; max-age=31536000; samesite=strict`;
  document.documentElement.dataset[setting] = value;
});

// --- keys ---

function step(by) {
  const rows = allRows();
  const current = rows.findIndex((row) => row.ariaCurrent);
  const at = current < 0 ? rows.indexOf(document.activeElement) : current;
  const row = rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)];
  if (!row) return;
  focusRow(row);
  if (oneColumn() && !$(".has-detail")) return;
  if (rows[current]) rows[current].ariaCurrent = null;
  row.ariaCurrent = "true"; // before it is loaded, so that the next key goes on from it
  open(row, oneColumn());
}

function stepTab(by) {
  const tabs = $$(".tabs a");
  tabs[tabs.findIndex((tab) => tab.ariaCurrent) + by]?.click();
}

// Without a script, the dialog is a popover, which lets the focus out.
const reset = $("#reset");
reset.popover = null;
function toggleReset() { if (reset.open) reset.close(); else reset.showModal(); }
for (const button of $$("[popovertarget]")) button.onclick = toggleReset;

const keys = {
  j: () => step(1), k: () => step(-1), "]": () => stepTab(1), "[": () => stepTab(-1),
  f: () => location.assign("/faults"),
  r: toggleReset,
  "/": () => { field.focus(); field.select(); },
  "?": () => location.assign("/help"),
  Escape: () => { if ($(".actions [aria-current]")) $(".tabs a").click(); else if ($(".has-detail")) back(); else if (query) location.href = $("form.search").action; else if (!section || !$("#rows")) history.back(); },
};

// Single keys can be switched off, for people who speak to the computer.
const shortcuts = $("#shortcuts");
if (shortcuts) {
  shortcuts.checked = localStorage.getItem("shortcuts") !== "off";
  shortcuts.onchange = () => localStorage.setItem("shortcuts", shortcuts.checked ? "on" : "off");
}

addEventListener("keydown", (event) => {
  if (event.key !== "Escape" && localStorage.getItem("shortcuts") === "off") return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const field = event.target.closest("input:not([type=radio]), textarea, select");
  if (event.key === "Escape" && (reset.open || field)) { field?.blur(); return; }
  if (reset.open || field || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});
