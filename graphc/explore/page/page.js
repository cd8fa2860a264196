// What a person does: points, steps, chooses, moves an input.
const drawing = document.querySelector(".paper svg");
let playing = null;

function describe(element) {
  const [kind, number] = element.id.split("-");
  const lines = kind === "node" ? nodeLines(Number(number)) : edgeLines(Number(number));
  const box = byId("detail");
  box.replaceChildren(
    ...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })),
  );
  box.hidden = false;
  const at = (element.querySelector(".filled") || element).getBoundingClientRect();
  const size = box.getBoundingClientRect();
  const left = Math.min(Math.max(at.left, 8), Math.max(8, document.documentElement.clientWidth - size.width - 8));
  const below = at.bottom + 8 + size.height < window.innerHeight;
  const top = below ? at.bottom + 8 : Math.max(8, at.top - size.height - 8);
  box.style.left = `${left + window.scrollX}px`;
  box.style.top = `${top + window.scrollY}px`;
}

function point(element) {
  if (pointed) pointed.classList.remove("pointed");
  pointed = element;
  if (!element) {
    byId("detail").hidden = true;
    return;
  }
  element.classList.add("pointed");
  describe(element);
}

// One stop for the tabulator; up and down go through nodes, then edges.
const drawn = [...nodeElements, ...edgeElements];
function stopAt(element) {
  for (const other of drawn) other.setAttribute("tabindex", other === element ? "0" : "-1");
}
drawing.addEventListener("keydown", (event) => {
  const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const place = drawn.indexOf(document.activeElement);
  if (!way || place < 0) return;
  event.preventDefault();
  drawn[(place + way + drawn.length) % drawn.length].focus();
});
for (const element of drawn) {
  element.addEventListener("focus", () => stopAt(element));
  element.addEventListener("pointerenter", () => point(element));
  element.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && point(null));
  element.addEventListener("focus", () => point(element));
  element.addEventListener("blur", () => point(null));
}

// Moving on.
function go(step) {
  state.step = (step + steps.length + 1) % (steps.length + 1);
  state.path = -1;
  show();
  const current = state.step ? steps[state.step - 1] : null;
  if (current && current.kind !== "path") {
    nodeElements[current.node].scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function play(on) {
  clearInterval(playing);
  playing = on ? setInterval(() => (state.step === steps.length ? play(false) : go(state.step + 1)), 1200) : null;
  byId("play").setAttribute("aria-pressed", String(on));
  write(byId("play"), on ? "pause" : "play");
}

const moves = {
  first: () => go(1),
  back: () => go(state.step - 1),
  next: () => go(state.step + 1),
  last: () => go(steps.length),
  all: () => go(0),
};
for (const [id, move] of Object.entries(moves)) {
  byId(id).addEventListener("click", () => {
    play(false);
    move();
  });
}
byId("play").addEventListener("click", () => play(playing === null));
const KEYS = { ArrowRight: "next", ArrowLeft: "back", Home: "first", End: "last", Escape: "all", p: "play" };
document.addEventListener("keydown", (event) => {
  const busy = event.target.closest("input, select, textarea, summary") || event.ctrlKey || event.metaKey || event.altKey;
  if (busy || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  if (event.key === "Escape") point(null);
  byId(KEYS[event.key]).click();
});

// Choosing.
function changed() {
  compute();
  show();
}

function chooseElements() {
  const { shape } = nodes[state.wrt];
  state.element = 0;
  const options = shape.length ? Array.from({ length: count(state.wrt) }, (_, i) => new Option(places(i, shape), i)) : [];
  byId("element").replaceChildren(...options);
}
const choose = (id, set) =>
  byId(id).addEventListener("change", (event) => {
    play(false);
    state.step = 0;
    state.path = -1;
    set(event.target.value);
    changed();
  });
choose("of", (value) => (state.end = Number(value)));
choose("wrt", (value) => {
  state.wrt = Number(value);
  chooseElements();
});
choose("element", (value) => (state.element = Number(value)));
choose("mode", (value) => (state.mode = value));

function put(field, value, from) {
  const place = Number(field.dataset.given), element = Number(field.dataset.element);
  if (model.given[place].shape.length) {
    state.given[place] = state.given[place].slice();
    state.given[place][element] = value;
  } else {
    state.given[place] = value;
  }
  field.removeAttribute("aria-invalid");
  write(byId("complaint"), "");
  const slider = field.parentElement.querySelector("input[type=range]");
  if (from !== "field") field.value = full(value);
  if (slider && from !== "slider") {
    slider.min = Math.min(Number(slider.min), value);
    slider.max = Math.max(Number(slider.max), value);
    slider.value = value;
  }
  changed();
}

for (const field of fields) {
  const read = () => {
    const value = typed(field.value);
    if (Number.isNaN(value)) {
      field.setAttribute("aria-invalid", "true");
      write(byId("complaint"), `${field.dataset.input}: “${field.value}” is not a number; write 0.5 or 1/3`);
    } else {
      put(field, value, "field");
    }
  };
  field.addEventListener("input", read);
  field.addEventListener("change", read);
  field.addEventListener("keydown", (event) => {
    const sign = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const value = typed(field.value);
    if (!sign || Number.isNaN(value)) return;
    event.preventDefault();
    put(field, Number((value + sign * (event.shiftKey ? 1 : 0.1)).toFixed(10)));
  });
  const slider = field.parentElement.querySelector("input[type=range]");
  if (slider) {
    slider.addEventListener("input", () => put(field, Number(Number(slider.value).toPrecision(4)), "slider"));
  }
}
byId("given").addEventListener("submit", (event) => event.preventDefault());
byId("given").addEventListener("reset", () => {
  state.given = model.given.map(({ value }) => tensorOf(value));
  for (const field of fields) field.removeAttribute("aria-invalid");
  write(byId("complaint"), "");
  changed();
});

// The size of the drawing: as wide as the page, if it can be read then.
const natural = Number(drawing.getAttribute("width"));
let scale = 1;
function resize(wanted) {
  scale = Math.min(Math.max(wanted, 0.25), 4);
  drawing.style.width = `${natural * scale}px`;
  point(null);
}
const fit = () => resize(Math.min(1, Math.max(0.7, drawing.parentElement.clientWidth / natural)));
byId("smaller").addEventListener("click", () => resize(scale / 1.25));
byId("larger").addEventListener("click", () => resize(scale * 1.25));
byId("fit").addEventListener("click", () => resize(drawing.parentElement.clientWidth / natural));
document.querySelector("main").classList.toggle("broad", natural > 950);
fit();

for (const grid of document.querySelectorAll(".grid")) {
  grid.style.gridTemplateColumns = `repeat(${grid.dataset.columns}, minmax(3.6rem, 5rem))`;
}
byId("of").value = "0";
byId("wrt").value = String(state.wrt);
for (const radio of document.querySelectorAll("#mode input")) radio.checked = radio.value === state.mode;
byId("given").reset();
chooseElements();
changed();
