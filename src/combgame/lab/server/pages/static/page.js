// The page's own script: times in the reader's zone, paste into a table, live changes. Everything
// else works without it.
"use strict";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const said = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const ages = new Intl.RelativeTimeFormat("en", { numeric: "always" });

function age(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (seconds >= size) return ages.format(-Math.floor(seconds / size), unit);
  }
  return "less than a minute ago";
}

function localise(root) {
  for (const one of root.querySelectorAll("time[datetime]")) {
    const date = new Date(one.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    one.title = said.format(date);
    one.textContent = "age" in one.dataset ? age(date) : said.format(date);
  }
  for (const one of root.querySelectorAll("[data-zone]")) one.textContent = `in your zone (${zone})`;
}

// ---- cells of a spreadsheet, pasted into fields

function cells(text) {
  return text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n").map((line) => line.split("\t"));
}

function fill(field, value) {
  field.value = value.trim();
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function pasted(event) {
  const field = event.target;
  if (!(field instanceof HTMLInputElement) || !("cell" in field.dataset)) return;
  const rows = cells(event.clipboardData.getData("text/plain"));
  if (rows.length === 1 && rows[0].length === 1) return;
  event.preventDefault();
  const fields = [...field.form.querySelectorAll("input[data-cell]")];
  const names = new Map(fields.map((one) => [one.dataset.name, one]));
  if (rows.every((row) => row.length === 2) && rows.some((row) => names.has(row[0].trim()))) {
    const table = new Map([...field.closest("table").querySelectorAll("input[data-cell]")].map(
      (one) => [one.dataset.name, one]));
    for (const [name, value] of rows) {
      const one = table.get(name.trim()) || names.get(name.trim());
      if (one) fill(one, value);
    }
    return;
  }
  const values = rows.flat();
  const begin = fields.indexOf(field);
  values.forEach((value, k) => { if (begin + k < fields.length) fill(fields[begin + k], value); });
  fields[Math.min(begin + values.length, fields.length) - 1].focus();
}

// ---- live changes

let waiting = null;
let busy = false;
let again = false;

function typed(section) {
  return [...section.querySelectorAll("input:not([type=hidden]), textarea")].some(
    (one) => one.value !== one.defaultValue);
}

function place(element) {
  if (!element || element === document.body) return null;
  if (element.id) return `#${CSS.escape(element.id)}`;
  const section = element.closest("[data-live]");
  if (!section) return null;
  const key = element.getAttribute("href") ? `[href="${CSS.escape(element.getAttribute("href"))}"]`
    : element.name ? `[name="${CSS.escape(element.name)}"]` : "";
  return `#${CSS.escape(section.id)} ${element.localName}${key}`;
}

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await fetch(location.href.split("#")[0], { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    localise(fresh);
    let news = false;
    for (const old of document.querySelectorAll("[data-live]")) {
      const made = fresh.getElementById(old.id);
      if (!made || plain(made) === plain(old) || typed(old)) continue;
      const held = old.contains(document.activeElement) ? place(document.activeElement) : null;
      const before = old.querySelector("[data-news]");
      const now = made.querySelector("[data-news]");
      if (before && now && before.textContent !== now.textContent) {
        document.getElementById("news").textContent = now.textContent;
        document.title = fresh.title;
      }
      old.replaceWith(document.adoptNode(made));
      if (held) document.querySelector(held)?.focus({ preventScroll: true });
      news = true;
    }
    const evidence = fresh.querySelector("[data-lazy]");
    if (evidence && !document.getElementById(evidence.id)) {
      const after = document.getElementById("log");
      after?.before(document.adoptNode(evidence.closest("section")));
    }
    if (news) lazy();
  } catch (error) {
    console.warn("the page could not be brought up to date", error);
  } finally {
    busy = false;
    if (again) { again = false; later(); }
  }
}

function plain(section) {
  const copy = section.cloneNode(true);
  for (const one of copy.querySelectorAll("input[type=hidden], time")) one.remove();
  return copy.innerHTML + copy.className;
}

function later() {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 150);
}

// A browser has few connections for one server, so only windows that can be seen watch.
function watch() {
  const main = document.querySelector("main[data-watch]");
  if (!main || !("EventSource" in window)) return;
  let source = null;
  let known = main.dataset.seq;
  const changed = (event) => {
    const seq = String(JSON.parse(event.data).seq);
    if (known !== undefined && seq === known) return;
    if (known !== undefined) known = seq;
    later();
  };
  const look = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      source = new EventSource(main.dataset.watch);
      source.addEventListener("change", changed);
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) later();
    look();
  });
  addEventListener("pagehide", () => source?.close());
  look();
}

// ---- what takes longer than the page, once somebody looks there

const seen = new Set();
const eyes = new IntersectionObserver((entries) => {
  for (const one of entries) {
    if (one.isIntersecting && !seen.has(one.target.id)) {
      seen.add(one.target.id);
      load(one.target);
    }
  }
}, { rootMargin: "200px" });

async function load(old) {
  const link = old.querySelector("a.button");
  if (link) link.textContent = "Drawing it …";
  try {
    const answer = await fetch(old.dataset.lazy, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const made = fresh.getElementById(old.id);
    if (made) old.replaceChildren(...made.childNodes);
  } catch (error) {
    console.warn("a picture could not be loaded", error);
  }
}

function lazy() {
  for (const one of document.querySelectorAll("[data-lazy]")) {
    seen.delete(one.id);
    eyes.unobserve(one);
    eyes.observe(one);
  }
}

addEventListener("paste", pasted);
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
for (const one of document.querySelectorAll("[data-print]")) {
  one.hidden = false;
  one.addEventListener("click", () => print());
}
localise(document);
setInterval(() => localise(document), 30000);
lazy();
watch();
