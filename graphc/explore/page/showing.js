// What is shown: computes at the state of the page, and writes every number where it belongs.
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
let now, steps, pointed = null; // pointed: the element that the pointer or the focus is on

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
  const kinks = [...now.point.kinks].map((node) => nodes[node].name).join(", ");
  write(byId("kinks"), kinks && `on a kink: ${kinks}; the slope taken there is a convention`);
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
  lines.push(node.text ? `${node.name}${size} = ${node.text}` : `${node.name}${size}, ${node.kind}`);
  const tell = (name, value) => value !== null && lines.push(`${name} = ${described(value, node.shape)}`);
  tell("value", now.point.values[number]);
  if (now.point.kinks.has(number)) lines.push("on a kink: the slope taken here is a convention");
  tell(`∂${endName()}/∂${node.name}`, now.adjoints[number]);
  tell(`∂${node.name}/∂${wrtName()}`, now.tangents[number]);
  return lines;
}

function edgeLines(number) {
  const { source, target, local, back, passes } = edges[number];
  const name = `∂${nodes[target].name}/∂${nodes[source].name}`;
  if (!passes) return [`${nodes[source].name} → ${nodes[target].name}`, "no derivative passes here"];
  const z = now.point.locals[number];
  const lines = [`${name} = ${local}${z === null ? "" : ` = ${full(z)}`}`];
  if (now.point.gates[number] === 0) lines.push("the other branch is taken: nothing passes");
  lines.push(`sends back ${back} to ${nodes[source].bar}`);
  return lines;
}
