// Numbers as text: a few digits for people, all of them for machines. A tensor is a flat array.
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function brief(x) {
  if (Number.isNaN(x)) return "undefined";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const [mantissa, exponent] = x.toExponential(3).split("e").map(Number);
  if (exponent >= -4 && exponent < 6) {
    return String(Number(x.toPrecision(Math.max(4, exponent + 1)))).replace("-", "−");
  }
  const digits = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");
  const power = `10${exponent < 0 ? "⁻" : ""}${digits}`;
  return `${String(mantissa).replace("-", "−")}·${power}`;
}

// A number that a formula can hold: negative ones and products in brackets.
const inside = (x) => (x < 0 || brief(x).includes("·") ? `(${brief(x)})` : brief(x));

function summary(value) {
  if (value === null) return "";
  if (typeof value === "number") return brief(value);
  if (value.length <= 3) return `[${[...value].map(brief).join(", ")}]`;
  const low = Math.min(...value), high = Math.max(...value);
  return low === high ? `all ${brief(low)}` : `∈ [${brief(low)}, ${brief(high)}]`;
}

// Every digit: a number, or nested lists.
function full(value, shape) {
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  let parts = [...value].map((x) => full(x));
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const rows = [];
    for (let at = 0; at < parts.length; at += shape[axis]) {
      rows.push(`[${parts.slice(at, at + shape[axis]).join(", ")}]`);
    }
    parts = rows;
  }
  return parts[0];
}

function described(value, shape) {
  if (typeof value === "number") return full(value);
  const norm = Math.hypot(...value);
  const first = [...value].slice(0, 6).map(brief).join(", ");
  return `[${first}${value.length > 6 ? ", …" : ""}], ${shape.join("×")}, norm ${brief(norm)}`;
}

const equation = (left, right) => `${left} ${right.startsWith("∈") ? right : `= ${right}`}`.trim();

// What a person typed: 0.5, -1e-3 or 1/3; NaN if it is no number.
function typed(text) {
  const parts = text.trim().replace("−", "-").split("/");
  const numbers = parts.map((part) => (part.trim() === "" ? NaN : Number(part)));
  const value = parts.length === 2 ? numbers[0] / numbers[1] : numbers[0];
  return parts.length <= 2 && Number.isFinite(value) ? value : NaN;
}
