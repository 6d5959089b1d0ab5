// Judges what a person put into an MCP form before it is sent, by the rules of internal/relay/ask (validate.go), which judges
// it again. test/judge.test.ts and the Go test take the same vectors.
import type { FieldView } from "../contract";

/** What a control holds: text for string, number, integer and select, a flag, or the chosen options. */
export type Input = string | boolean | readonly string[];

export type Fault = "required" | "type" | "length" | "format" | "range" | "choice" | "count";

export type Judged = { value: unknown } | { absent: true } | { fault: Fault };

/** judge turns an input into the value of an answer. An empty input of a field that is not required is left out. */
export function judge(f: FieldView, input: Input | undefined): Judged {
  if (input === undefined || input === "" || (Array.isArray(input) && input.length === 0 && !f.required)) {
    return f.required ? { fault: "required" } : { absent: true };
  }
  const value = typed(f, input);
  if (value === undefined) return { fault: "type" };
  const fault = check(f, value);
  return fault ? { fault } : { value };
}

function typed(f: FieldView, input: Input): unknown {
  if (f.kind === "number" || f.kind === "integer") {
    const s = String(input).trim();
    return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(s) ? Number(s) : undefined;
  }
  return input;
}

/** check judges a value as it would be sent. */
export function check(f: FieldView, value: unknown): Fault | undefined {
  switch (f.kind) {
    case "string":
      return typeof value === "string" ? text(f, value) : "type";
    case "number":
    case "integer":
      if (typeof value !== "number" || !Number.isFinite(value)) return "type";
      if ((f.minimum !== undefined && value < f.minimum) || (f.maximum !== undefined && value > f.maximum)) return "range";
      if (f.kind === "integer" && (!Number.isInteger(value) || Math.abs(value) > 2 ** 53)) return "type";
      return undefined;
    case "boolean":
      return typeof value === "boolean" ? undefined : "type";
    case "select":
      if (typeof value !== "string") return "type";
      return offered(f, value) ? undefined : "choice";
    case "multiselect": {
      if (!Array.isArray(value) || value.some((v) => typeof v !== "string")) return "type";
      if (new Set(value).size !== value.length || value.some((v) => !offered(f, v as string))) return "choice";
      const n = value.length;
      return (f.minItems !== undefined && n < f.minItems) || (f.maxItems !== undefined && n > f.maxItems) ? "count" : undefined;
    }
  }
  return "type";
}

const offered = (f: FieldView, id: string) => (f.options ?? []).some((o) => o.id === id);

function text(f: FieldView, s: string): Fault | undefined {
  const n = [...s].length;
  if ((f.minLength !== undefined && n < f.minLength) || (f.maxLength !== undefined && n > f.maxLength)) return "length";
  return f.format && !formatted(f.format, s) ? "format" : undefined;
}

function formatted(format: string, s: string): boolean {
  switch (format) {
    case "email": {
      const at = s.indexOf("@");
      const domain = s.slice(at + 1);
      return at > 0 && domain !== "" && !/[ \t\r\n<>()[\],;:"\\]/.test(s) && !domain.includes("@") && !domain.startsWith(".") && !domain.endsWith(".") && !domain.includes("..");
    }
    case "uri":
      return /^[A-Za-z][A-Za-z0-9+.-]*:./.test(s) && !/[\u0000-\u0020\u007f]/.test(s) && !/%(?![0-9A-Fa-f]{2})/.test(s) && !/^[^:]*:\/\/$/.test(s);
    case "date":
      return day(s);
    case "date-time": {
      const m = /^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:Z|[+-](\d{2}):(\d{2}))$/.exec(s);
      if (!m || !day(m[1] ?? "")) return false;
      return Number(m[2]) < 24 && Number(m[3]) < 60 && Number(m[4]) < 60 && Number(m[5] ?? 0) < 24 && Number(m[6] ?? 0) < 60;
    }
  }
  return false;
}

function day(s: string): boolean {
  const m = /^(\d{4})-(\d{2})-(\d{2})$/.exec(s);
  if (!m) return false;
  const [y, mo, d] = [Number(m[1]), Number(m[2]), Number(m[3])];
  const leap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return mo >= 1 && mo <= 12 && d >= 1 && d <= (days[mo - 1] ?? 0);
}

/** The values of an answer by field id, or the faults by field id when there are any. */
export function content(fields: readonly FieldView[], inputs: Readonly<Record<string, Input>>): { content: Record<string, unknown> } | { faults: Record<string, Fault> } {
  const out: Record<string, unknown> = {}, faults: Record<string, Fault> = {};
  for (const f of fields) {
    const j = judge(f, inputs[f.id]);
    if ("fault" in j) faults[f.id] = j.fault;
    else if ("value" in j) out[f.id] = j.value;
  }
  return Object.keys(faults).length > 0 ? { faults } : { content: out };
}
