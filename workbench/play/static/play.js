// Comfort only: the page does all its work without it. No rule of any protocol stands here.
"use strict";

const address = document.getElementById("address");
const copy = document.getElementById("copy");
if (address && copy) {
  address.value = new URL(address.dataset.address, location.href).href;
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const said = document.getElementById("copied");
    try {
      await navigator.clipboard.writeText(address.value);
      said.textContent = "Copied.";
    } catch {
      address.select();
      said.textContent = "Selected: copy it with the keyboard.";
    }
  });
  address.addEventListener("focus", () => address.select());
}

// In the list of calls the arrow keys go from call to call.
const calls = document.getElementById("calls");
if (calls) {
  calls.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...calls.querySelectorAll("summary, details[open] a")];
    const next = all[all.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}
