// The steps of each mode, and the equation that each of them applies, as [class, text] pieces.
function stepsOf(state, now) {
  const values = model.bare ? [] : onward.map((node) => ({ kind: "value", node }));
  if (state.mode === "forward") {
    return onward.flatMap((node) => [
      ...(model.bare ? [] : [{ kind: "value", node }]),
      ...(now.tangents[node] === null ? [] : [{ kind: "tangent", node }]),
    ]);
  }
  if (state.mode === "paths") {
    return [...values, ...now.paths.terms.map((_, path) => ({ kind: "path", path }))];
  }
  const back = backward.filter((node) => now.adjoints[node] !== null);
  return [...values, ...back.map((node) => ({ kind: "adjoint", node }))];
}

const joined = (pieces, none) => (pieces.length ? pieces.join(" + ") : none);

function valueEquation(node, now) {
  const { math, formula, parts, kind, shape } = nodes[node];
  const pieces = [["name", equation(math, formula || summary(now.point.values[node]))]];
  if (!formula) return [...pieces, ["", `(${kind})`]];
  if (parts.some((part) => typeof part === "number")) {
    const put = parts.map((p) => (typeof p === "number" ? inside(now.point.values[p]) : p));
    pieces.push(["", `= ${put.join("")}`]);
  }
  if (kind !== "constant") pieces.push(["ink-ink", equation("", summary(now.point.values[node]))]);
  if (shape.length) pieces.push(["", `(${shape.join("×")})`]);
  return pieces;
}

// A sum over edges: formulas, then numbers, then the result.
function sumEquation(name, used, formulas, numbers, seed, value) {
  const seeds = seed === null ? [] : [summary(seed)];
  const pieces = [["name", equation(name, joined([...seeds, ...used.map(formulas)], "0"))]];
  const filled = used.map(numbers);
  if (used.length && filled.every((text) => text !== null)) {
    pieces.push(["", `= ${[...seeds, ...filled].join(" + ")}`]);
  }
  return used.length ? [...pieces, ["ink-adjoint", equation("", summary(value))]] : pieces;
}

function product(point, edge, carried) {
  const local = point.locals[edge];
  if (local === null || typeof carried !== "number") return null;
  return `${inside(carried)}·${inside(local)}`;
}

function adjointEquation(node, now) {
  const seed = now.seeds.find(([end]) => end === node);
  const used = from[node].filter((edge) => edges[edge].passes && now.adjoints[edges[edge].target] !== null);
  return sumEquation(
    nodes[node].bar,
    used,
    (edge) => edges[edge].back,
    (edge) => product(now.point, edge, now.adjoints[edges[edge].target]),
    seed ? tensorOf(seed[1]) : null,
    now.adjoints[node],
  );
}

function tangentEquation(node, now, state) {
  const used = into[node].filter((edge) => edges[edge].passes && now.tangents[edges[edge].source] !== null);
  return sumEquation(
    nodes[node].dot,
    node === state.wrt ? [] : used,
    (edge) => edges[edge].forth,
    (edge) => product(now.point, edge, now.tangents[edges[edge].source]),
    node === state.wrt ? now.tangents[node] : null,
    now.tangents[node],
  );
}

const pathName = (term, wrt) =>
  [nodes[wrt].math, ...term.edges.map((edge) => nodes[edges[edge].target].math)].join(" → ");

function pathEquation(term, now, state) {
  const locals = term.edges.map((edge) => now.point.locals[edge]);
  const pieces = [["name", pathName(term, state.wrt)]];
  const names = term.edges.map((edge) => `∂${nodes[edges[edge].target].math}/∂${nodes[edges[edge].source].math}`);
  if (names.length) pieces.push(["", `contributes ${names.join("·")}`]);
  if (locals.length && locals.every((z) => z !== null)) {
    pieces.push(["", `= ${locals.map(inside).join("·")}`]);
  }
  return [...pieces, ["ink-adjoint", equation("", summary(term.value))]];
}

function equationOf(step, now, state) {
  if (step.kind === "value") return valueEquation(step.node, now);
  if (step.kind === "adjoint") return adjointEquation(step.node, now);
  if (step.kind === "tangent") return tangentEquation(step.node, now, state);
  return pathEquation(now.paths.terms[step.path], now, state);
}
