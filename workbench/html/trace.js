"use strict";
// Steps through what the page already holds: marks one moment, and shows its state beside it.
(() => {
  const moments = [...document.querySelectorAll(".moment")];
  const controls = document.querySelector(".controls");
  const panel = document.querySelector(".panel");
  const said = document.querySelector("#said");
  const place = document.querySelector(".place");
  const slide = document.querySelector(".slide");
  if (!controls || moments.length === 0) return;
  const wide = window.matchMedia("(min-width: 60rem)");
  const last = moments.length - 1;
  const hasStart = moments[0].classList.contains("start");
  let current = Math.max(0, moments.findIndex((moment) => `#${moment.id}` === location.hash));

  function show(number, { moves }) {
    current = Math.min(last, Math.max(0, number));
    moments.forEach((moment, index) => {
      moment.classList.toggle("current", index === current);
      moment.classList.toggle("later", index > current);
      const pick = moment.querySelector(".pick");
      if (index === current) pick.setAttribute("aria-current", "step");
      else pick.removeAttribute("aria-current");
      const state = moment.querySelector("details.state");
      if (state) state.open = index === current;
    });
    const moment = moments[current];
    document.querySelectorAll("[data-of]").forEach((bar) => {
      bar.classList.toggle("current", bar.dataset.of === moment.id);
      if (bar.dataset.of === moment.id) center(bar);
    });
    slide.value = String(current);
    slide.setAttribute("aria-valuetext", moment.dataset.said);
    place.textContent = hasStart && current === 0 ? "Start" : `${current + (hasStart ? 0 : 1)} of ${last + (hasStart ? 0 : 1)}`;
    mark("first", current === 0);
    mark("previous", current === 0);
    mark("next", current === last);
    mark("last", current === last);
    showState();
    if (!moves) return;
    said.textContent = moment.dataset.said;
    moment.scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", `#${moment.id}`);
  }

  function mark(name, isAtEnd) {
    controls.querySelector(`[data-go="${name}"]`).setAttribute("aria-disabled", String(isAtEnd));
  }

  // Only the chart moves: the page stays where the reader has scrolled it to.
  function center(bar) {
    const chart = bar.closest(".chart");
    const [box, frame] = [bar.getBoundingClientRect(), chart.getBoundingClientRect()];
    chart.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  }

  // A turn has no state of its own: beside it stays the last one that somebody looked at.
  function showState() {
    for (let index = current; index >= 0; index -= 1) {
      const tables = moments[index].querySelector(".state > .tables");
      if (!tables) continue;
      panel.replaceChildren(tables.cloneNode(true));
      panel.scrollTop = 0;
      const found = panel.querySelector("tr.changed, tr.new, tr.gone");
      if (found && found.offsetTop > panel.clientHeight) panel.scrollTop = found.offsetTop - 40;
      return;
    }
  }

  const ways = {
    first: () => 0,
    previous: () => current - 1,
    next: () => current + 1,
    last: () => last,
  };
  const keys = { Home: "first", ArrowLeft: "previous", ArrowRight: "next", End: "last" };

  controls.addEventListener("click", (event) => {
    const button = event.target.closest("[data-go]");
    if (button) show(ways[button.dataset.go](), { moves: true });
  });
  slide.addEventListener("input", () => show(Number(slide.value), { moves: true }));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    if (event.target === slide) return;
    const isOnStep = event.target.closest?.(".pick") !== null && event.target !== document.body;
    const way = keys[event.key]
      ?? (isOnStep ? { ArrowUp: "previous", ArrowDown: "next" }[event.key] : undefined);
    if (way === undefined) return;
    event.preventDefault();
    show(ways[way](), { moves: true });
    if (isOnStep) moments[current].querySelector(".pick").focus({ preventScroll: true });
  });
  moments.forEach((moment, index) => {
    moment.addEventListener("click", (event) => {
      if (event.target.closest("details") || String(getSelection())) return;
      event.preventDefault();
      show(index, { moves: true });
    });
  });
  window.addEventListener("hashchange", () => {
    const index = moments.findIndex((moment) => `#${moment.id}` === location.hash);
    if (index >= 0) show(index, { moves: true });
  });
  // On paper the last state stands below the last step, whatever is looked at on the screen.
  window.addEventListener("beforeprint", () => {
    const states = document.querySelectorAll(".moment details.state");
    states.forEach((state, index) => { state.open = index === states.length - 1; });
  });
  window.addEventListener("afterprint", () => show(current, { moves: false }));
  wide.addEventListener("change", showState);

  document.documentElement.classList.add("js");
  controls.hidden = false;
  panel.hidden = false;
  show(current, { moves: false });
})();
