// The page: reads what a person chooses, computes, and writes every number where it belongs.
const byId = (id) => document.getElementById(id);
const nodeElements = nodes.map((_, node) => byId(`node-${node}`));
const edgeElements = edges.map((_, edge) => byId(`edge-${edge}`));
const fields = [...document.querySelectorAll("[data-input]")];
const state = {
  given: model.given.map(({ value }) => tensorOf(value)),
  end: 0,
  wrt: model.wrt,
  element: 0,
  mode: model.mode,
  step: 0, // 0: everything is shown
  path: -1, // the path that was picked from the list
};
let now, steps, playing = null, pointed = null;

function compute() {
  const point = new Point(state.given);
  const { seeds } = model.ends[state.end];
  now = { point, seeds, adjoints: point.adjoints(seeds), tangents: point.tangents(state.wrt, state.element) };
  now.paths = state.mode === "paths" ? point.paths(state.wrt, seeds) : null;
  steps = stepsOf(state, now);
  if (state.step > steps.length) state.step = 0;
}

const setAttribute = (element, name, value, shape) => {
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, full(value, shape));
};
const write = (element, text) => {
  if (element && element.textContent !== text) element.textContent = text;
};
const pieces = (element, list) =>
  element.replaceChildren(
    ...list.flatMap(([name, text]) => {
      const span = document.createElement("span");
      if (name) span.className = name;
      span.textContent = text;
      return [span, " "];
    }),
  );
const endName = () => model.ends[state.end].label;
const wrtName = () => {
  const { name, shape } = nodes[state.wrt];
  return shape.length ? `${name}[${places(state.element, shape)}]` : name;
};
function places(element, shape) {
  const found = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    found.unshift(element % shape[axis]);
    element = Math.floor(element / shape[axis]);
  }
  return found.join(",");
}

function show() {
  const done = state.step ? steps.slice(0, state.step) : steps;
  const current = state.step ? steps[state.step - 1] : null;
  const shown = { value: new Set(), adjoint: new Set(), tangent: new Set() };
  for (const step of done) if (step.kind !== "path") shown[step.kind].add(step.node);
  const picked = current && current.kind === "path" ? current.path : state.path;
  const path = now.paths && picked >= 0 ? now.paths.terms[picked] : null;
  const onPath = new Set(path ? path.edges.flatMap((e) => [edges[e].source, edges[e].target]) : []);
  nodes.forEach((node, number) => showNode(node, number, shown, current, path && onPath));
  edges.forEach((edge, number) => showEdge(number, shown, current, path));
  showSteps(current);
  showResult();
  showPaths(picked);
  showTable(current);
  if (pointed) describe(pointed);
}

function showNode(node, number, shown, current, onPath) {
  const element = nodeElements[number], value = now.point.values[number];
  const adjoint = now.adjoints[number], tangent = now.tangents[number];
  setAttribute(element, "data-value", value, node.shape);
  setAttribute(element, "data-adjoint", adjoint, node.shape);
  setAttribute(element, "data-tangent", tangent, node.shape);
  const valueText = element.querySelector(".value");
  if (valueText) {
    // "x₁ = " stands before the number of an input, "= " before that of a computation
    const before = valueText.dataset.before.replace(/= $/, "").trim();
    write(valueText, shown.value.has(number) ? equation(before, summary(value)) : before);
  }
  let text = "";
  if (state.mode === "forward" && tangent !== null && shown.tangent.has(number)) {
    text = equation(node.dot, summary(tangent));
  } else if (state.mode === "reverse" && adjoint !== null && shown.adjoint.has(number)) {
    text = equation(node.bar, summary(adjoint));
  } else if (state.mode === "paths" && number === state.wrt && adjoint !== null && !state.step) {
    text = equation(node.bar, summary(adjoint));
  }
  write(element.querySelector(".adjoint"), text);
  const isCurrent = current !== null && current.node === number;
  element.classList.toggle("current", isCurrent);
  if (isCurrent) element.setAttribute("aria-current", "step");
  else element.removeAttribute("aria-current");
  const isPicked = onPath ? onPath.has(number) : state.mode !== "reverse" && number === state.wrt;
  element.classList.toggle("chosen", isPicked);
  element.classList.toggle("muted", Boolean(onPath) && !onPath.has(number));
  element.setAttribute("aria-label", nodeLines(number).join("; "));
}

function showEdge(number, shown, current, path) {
  const element = edgeElements[number], local = now.point.locals[number];
  const { source, target } = edges[number];
  setAttribute(element, "data-local", local, []);
  const text = element.querySelector(".local");
  const known = model.bare || !state.step || shown.value.has(target);
  if (text) write(text, known && local !== null ? brief(local) : "");
  const used =
    current !== null &&
    ((current.kind === "adjoint" && source === current.node && now.adjoints[target] !== null) ||
      (current.kind === "tangent" && target === current.node && now.tangents[source] !== null) ||
      (current.kind === "value" && target === current.node));
  element.classList.toggle("current", used);
  element.classList.toggle("chosen", Boolean(path) && path.edges.includes(number));
  element.classList.toggle("muted", Boolean(path) && !path.edges.includes(number));
  element.setAttribute("aria-label", edgeLines(number).join("; "));
}

function showSteps(current) {
  document.body.dataset.step = state.step;
  document.body.dataset.steps = steps.length;
  const pass = { value: "values", adjoint: "backward", tangent: "forward", path: "path by path" };
  const name = current ? `: ${pass[current.kind]}${current.kind === "path" ? "" : `, ${nodes[current.node].name}`}` : "";
  write(byId("position"), current ? `Step ${state.step} of ${steps.length}${name}` : `All ${steps.length} steps are shown`);
  const rest = [["ink-edge", "Press “next” to go through them one by one, or move an input."]];
  pieces(byId("equation"), current ? equationOf(current, now, state) : rest);
}

function showResult() {
  byId("element-choice").hidden = state.mode !== "forward" || !nodes[state.wrt].shape.length;
  const value = now.adjoints[state.wrt], name = nodes[state.wrt].name;
  const text = value === null ? "no path" : summary(value);
  write(byId("result"), equation(`∂${endName()}/∂${name}`, text));
  byId("result").dataset.result = value === null ? "" : full(value, nodes[state.wrt].shape);
  const forward = state.mode === "forward";
  write(byId("legend"), forward ? `derivative by ${wrtName()}` : `derivative of ${endName()}`);
  write(byId("by-adjoint"), `∂${endName()}/∂node`);
  write(byId("by-tangent"), `∂node/∂${wrtName()}`);
}

function showPaths(picked) {
  byId("paths").hidden = state.mode !== "paths";
  if (state.mode !== "paths") return;
  const { total, all, best, terms } = now.paths;
  const which = all ? "" : best ? `; the ${terms.length} largest` : `; the first ${terms.length}`;
  write(byId("count"), `${total} path${total === 1 ? "" : "s"} from ${nodes[state.wrt].name} to ${endName()}${which}`);
  const list = byId("paths").querySelector("ol");
  while (list.children.length > terms.length) list.lastChild.remove();
  terms.forEach((term, number) => {
    let item = list.children[number];
    if (!item) {
      item = document.createElement("li");
      item.append(document.createElement("button"));
      item.firstChild.type = "button";
      item.firstChild.addEventListener("click", () => {
        state.path = state.path === number ? -1 : number;
        state.step = 0;
        show();
      });
      list.append(item);
    }
    write(item.firstChild, equation(pathName(term, state.wrt), summary(term.value)));
    item.firstChild.dataset.contribution = full(term.value, nodes[state.wrt].shape);
    item.firstChild.setAttribute("aria-pressed", String(number === picked));
  });
}

function showTable(current) {
  const body = byId("table").querySelector("tbody");
  nodes.forEach((node, number) => {
    const row = body.children[number] || body.appendChild(document.createElement("tr"));
    const or = (value) => (value === null ? "no path" : summary(value));
    const value = now.point.values[number];
    const texts = [node.name, node.formula || node.kind, value === null ? "" : summary(value), or(now.adjoints[number]), or(now.tangents[number])];
    texts.forEach((text, column) => {
      const cell = row.children[column] || row.appendChild(document.createElement(column ? "td" : "th"));
      if (!column) cell.scope = "row";
      write(cell, text);
    });
    row.classList.toggle("current", current !== null && current.node === number);
  });
}

// What is told of a node or an edge that is pointed at.
function nodeLines(number) {
  const node = nodes[number], lines = [];
  const size = node.shape.length ? ` (${node.shape.join("×")})` : "";
  lines.push(node.formula ? `${node.name}${size} = ${node.formula}` : `${node.name}${size}, ${node.kind}`);
  const tell = (name, value) => value !== null && lines.push(`${name} = ${described(value, node.shape)}`);
  tell("value", now.point.values[number]);
  tell(`∂${endName()}/∂${node.name}`, now.adjoints[number]);
  tell(`∂${node.name}/∂${wrtName()}`, now.tangents[number]);
  return lines;
}

function edgeLines(number) {
  const { source, target, local, back, passes } = edges[number];
  const name = `∂${nodes[target].name}/∂${nodes[source].name}`;
  if (!passes) return [`${nodes[source].name} → ${nodes[target].name}`, "no derivative passes here"];
  const z = now.point.locals[number];
  const lines = [`${name} = ${local || back}${z === null ? "" : ` = ${full(z)}`}`];
  if (now.point.gates[number] === 0) lines.push("the other branch is taken: nothing passes");
  lines.push(`sends back ${back} to ${nodes[source].bar}`);
  return lines;
}

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

for (const element of [...nodeElements, ...edgeElements]) {
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
const drawing = document.querySelector(".paper svg"), natural = Number(drawing.getAttribute("width"));
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
