"use strict";
// Goes from state to state by keys, and draws the shortest way to the chosen one.
(() => {
  const nodes = [...document.querySelectorAll(".node")];
  if (nodes.length === 0) return;
  const said = document.querySelector("#said");
  const region = document.querySelector(".canvas.states");
  const byNumber = new Map(nodes.map((node) => [node.dataset.number, node]));
  const lines = [...document.querySelectorAll("line.step")];
  const children = new Map();
  nodes.forEach((node) => {
    const parent = node.dataset.parent;
    if (parent !== undefined && !children.has(parent)) children.set(parent, node);
  });
  let chosen = nodes[0];

  function choose(node) {
    chosen.classList.remove("chosen");
    chosen = node;
    node.classList.add("chosen");
    nodes.forEach((each) => each.setAttribute("tabindex", each === node ? "0" : "-1"));
    const way = new Set();
    for (let at = node; at?.dataset.parent !== undefined; at = byNumber.get(at.dataset.parent)) {
      way.add(`${at.dataset.parent} ${at.dataset.number}`);
    }
    lines.forEach((line) => {
      const { from, to } = line.dataset;
      line.classList.toggle("path", way.has(`${from} ${to}`));
      line.classList.toggle("in", to === node.dataset.number);
      line.classList.toggle("out", from === node.dataset.number);
    });
  }

  function neighbour(key) {
    const index = nodes.indexOf(chosen);
    if (key === "ArrowRight") return nodes[index + 1];
    if (key === "ArrowLeft") return nodes[index - 1];
    if (key === "ArrowUp") return byNumber.get(chosen.dataset.parent);
    if (key === "ArrowDown") return children.get(chosen.dataset.number);
    if (key === "Home") return nodes[0];
    if (key === "End") return nodes[nodes.length - 1];
    return undefined;
  }

  function open(node, { moves }) {
    choose(node);
    document.querySelector(".card.shown")?.classList.remove("shown");
    const card = document.getElementById(`state-${node.dataset.number}`);
    card.classList.add("shown");
    card.parentElement.scrollTop = 0;
    said.textContent = node.getAttribute("aria-label");
    history.replaceState(null, "", `#${card.id}`);
    if (moves) node.scrollIntoView({ block: "nearest", inline: "nearest" });
    return card;
  }

  function openByAddress() {
    const isState = location.hash.startsWith("#state-");
    const node = isState ? byNumber.get(location.hash.slice("#state-".length)) : undefined;
    if (node) open(node, { moves: true });
  }

  region.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const node = neighbour(event.key);
    if (!node) return;
    event.preventDefault();
    node.focus({ preventScroll: true });
    open(node, { moves: true });
  });
  region.addEventListener("click", (event) => {
    const node = event.target.closest(".node");
    if (!node) return;
    event.preventDefault();
    node.focus({ preventScroll: true });
    const card = open(node, { moves: false });
    if (!window.matchMedia("(min-width: 60rem)").matches) card.scrollIntoView({ block: "nearest" });
  });
  document.querySelector(".cards").addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#state-']");
    if (!link) return;
    event.preventDefault();
    const node = byNumber.get(link.hash.slice("#state-".length));
    open(node, { moves: true });
    node.focus({ preventScroll: true });
  });
  window.addEventListener("hashchange", openByAddress);
  document.documentElement.classList.add("js");
  region.removeAttribute("tabindex");
  region.scrollLeft = (region.scrollWidth - region.clientWidth) / 2;
  choose(nodes[0]);
  openByAddress();
})();
