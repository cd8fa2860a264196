// The sweeps: adjoints are pulled against the arrows, tangents pushed along them, and a path
// carries one product. null means that no path leads there, which is not the same as 0.
const { nodes, edges } = model;
const into = nodes.map(() => []), from = nodes.map(() => []);
edges.forEach((edge, number) => {
  into[edge.target].push(number);
  from[edge.source].push(number);
});
const MOST_PATHS = 200, FEW_PATHS = 50;

const added = (a, b) => {
  if (a === null) return b;
  return typeof a === "number" ? a + b : a.map((x, i) => x + b[i]);
};
const tensorOf = (x) => (typeof x === "number" ? x : Float64Array.from(x));
const count = (node) => nodes[node].shape.reduce((product, size) => product * size, 1);
const zero = (node) => (nodes[node].shape.length ? new Float64Array(count(node)) : 0);

// The nodes that a derivative can reach, whatever the numbers are.
function reached(starts, order, hops) {
  const found = nodes.map(() => false);
  for (const start of starts) found[start] = true;
  for (const node of order) {
    if (!found[node]) continue;
    for (const number of hops[node]) {
      const edge = edges[number];
      if (edge.passes) found[hops === into ? edge.source : edge.target] = true;
    }
  }
  return found;
}
const onward = nodes.map((_, node) => node), backward = [...onward].reverse();

class Point {
  constructor(given) {
    this.given = given;
    this.values = program.values(given);
    // where there is no value, there is no derivative
    this.locals = program
      .locals(this.values, given)
      .map((z, edge) => (z !== null && Number.isNaN(this.values[edges[edge].target]) ? NaN : z));
    this.gates = program.gates(this.values, given);
    this.kinks = new Set();
    program.switches(this.values, given).forEach((x, place) => {
      const zero = typeof x === "number" ? x === 0 : x.includes(0);
      if (zero) this.kinks.add(program.kinked[place]);
    });
  }

  // What an adjoint of a node brings to the source of each edge into it.
  shares(node, adjoint) {
    if (program.pull[node]) return program.pull[node](this.values, adjoint, this.given);
    return into[node].map((edge) => {
      if (this.locals[edge] === null || this.gates[edge] === 0) return null;
      return adjoint * this.locals[edge];
    });
  }

  pushed(edge, tangent) {
    if (program.push[edge]) return program.push[edge](this.values, tangent, this.given)[0];
    if (this.locals[edge] === null || this.gates[edge] === 0) return null;
    return tangent * this.locals[edge];
  }

  adjoints(seeds) {
    const found = nodes.map(() => null);
    for (const [node, seed] of seeds) found[node] = tensorOf(seed);
    for (const node of backward) {
      if (found[node] === null || !into[node].length) continue;
      this.shares(node, found[node]).forEach((share, place) => {
        const { source, passes } = edges[into[node][place]];
        if (passes && share !== null) found[source] = added(found[source], share);
      });
    }
    const led = reached(seeds.map(([node]) => node), backward, into);
    return found.map((value, node) => (value === null && led[node] ? zero(node) : value));
  }

  tangents(wrt, element) {
    const found = nodes.map(() => null);
    found[wrt] = zero(wrt);
    if (nodes[wrt].shape.length) found[wrt][element] = 1;
    else found[wrt] = 1;
    for (const node of onward) {
      for (const number of into[node]) {
        const { source, passes } = edges[number];
        if (!passes || found[source] === null) continue;
        const share = this.pushed(number, found[source]);
        if (share !== null) found[node] = added(found[node], share);
      }
    }
    const led = reached([wrt], onward, from);
    return found.map((value, node) => (value === null && led[node] ? zero(node) : value));
  }

  // The contribution of one path, given as its edges: the seed pulled back along it.
  along(path, seed) {
    let carried = tensorOf(seed);
    for (const number of [...path].reverse()) {
      if (carried === null) break;
      const target = edges[number].target;
      carried = this.shares(target, carried)[into[target].indexOf(number)];
    }
    return carried;
  }

  // The paths from a node to the ends: {total, all, terms: [{edges, end, value}]}.
  paths(wrt, seeds) {
    const ends = new Map(seeds);
    const led = reached([...ends.keys()], backward, into);
    const counts = nodes.map(() => 0);
    counts[wrt] = 1;
    for (const node of onward) {
      for (const number of from[node]) {
        const { target, passes } = edges[number];
        if (passes && led[target]) counts[target] += counts[node];
      }
    }
    const total = [...ends.keys()].reduce((sum, end) => sum + counts[end], 0);
    const all = total <= MOST_PATHS;
    const best = !all && this.locals.every((z, edge) => z !== null || !edges[edge].passes);
    const found = best ? this.largest(wrt, ends) : this.enumerated(wrt, ends, led, all);
    const terms = found.map(([path, end]) => {
      const value = this.along(path, ends.get(end));
      return { edges: path, end, value: value === null ? zero(wrt) : value };
    });
    return { total, all, best, terms };
  }

  // Every path, or the first few, depth first in the order of the edges.
  enumerated(wrt, ends, led, all) {
    const found = [], trail = [], stack = [[wrt, 0]];
    if (ends.has(wrt)) found.push([[], wrt]);
    while (stack.length && (all || found.length < FEW_PATHS)) {
      const top = stack[stack.length - 1];
      if (top[1] === from[top[0]].length) {
        stack.pop();
        trail.pop();
        continue;
      }
      const number = from[top[0]][top[1]++], { target, passes } = edges[number];
      if (!passes || !led[target]) continue;
      trail.push(number);
      stack.push([target, 0]);
      if (ends.has(target)) found.push([[...trail], target]);
    }
    return found;
  }

  // The paths with the largest products: each node needs only its few best.
  largest(wrt, ends) {
    const best = nodes.map(() => []);
    best[wrt] = [[1, null]];
    const order = (a, b) => Math.abs(b[0]) - Math.abs(a[0]);
    for (const node of onward) {
      for (const number of into[node]) {
        const { source, passes } = edges[number];
        if (!passes) continue;
        const more = best[source].map((link) => [link[0] * this.locals[number], [number, link]]);
        best[node] = [...best[node], ...more].sort(order).slice(0, FEW_PATHS);
      }
    }
    const found = [];
    for (const [end, seed] of ends) {
      for (const link of best[end]) {
        const path = [];
        for (let part = link[1]; part !== null; part = part[1][1]) path.unshift(part[0]);
        found.push([link[0] * seed, [path, end]]);
      }
    }
    return found.sort(order).slice(0, FEW_PATHS).map((entry) => entry[1]);
  }
}
