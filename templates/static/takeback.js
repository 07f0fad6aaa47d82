// Conveniences only: everything works without this file.
"use strict";
(() => {
  const typing = (node) => node.closest("input, textarea, select, [contenteditable]");
  const items = () => [...document.querySelectorAll("main .action h3 a, main tbody tr a:first-of-type")]
    .filter((link, at, all) => all.findIndex((other) => other.closest("tr, .action") === link.closest("tr, .action")) === at);

  const move = (step) => {
    const all = items();
    const here = all.findIndex((link) => link.closest("tr, .action")?.contains(document.activeElement));
    all[Math.min(Math.max(here + step, 0), all.length - 1)]?.focus();
  };

  const keys = {
    "/": () => (document.querySelector("main input[type=search]") ?? document.querySelector("main input:not([type=hidden])"))?.focus(),
    j: () => move(1),
    k: () => move(-1),
    "?": () => document.getElementById("keys")?.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    act();
  });

  // The same words as the server's: the largest unit and the next one; minutes and seconds stand alone.
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const span = (seconds) => {
    const at = units.findIndex(([size]) => seconds >= size);
    if (at < 0) return "0 s";
    const [size, unit] = units[at];
    const [smaller, next] = units[at + 1] ?? [1, "s"];
    const more = unit === "d" || unit === "h" ? Math.floor((seconds % size) / smaller) : 0;
    return `${Math.floor(seconds / size)} ${unit}${more ? ` ${more} ${next}` : ""}`;
  };
  // By the server's clock: this one may be wrong.
  const skew = Date.parse(document.documentElement.dataset.now) - Date.now() || 0;
  const age = (which) => {
    if (document.documentElement.lang !== "en") return;
    for (const node of document.querySelectorAll(which)) {
      const seconds = Math.trunc((Date.now() + skew - Date.parse(node.dateTime)) / 1000);
      const words = seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
      const place = node.querySelector("span");
      if (place && place.textContent !== words) place.textContent = words;
    }
  };
  setInterval(age, 15000, "time[data-age]");
  setInterval(age, 1000, "time[data-age=close]");
})();
