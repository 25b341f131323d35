// The input of a call as fields that a person can change, and back. What is no text, number or yes-or-no is shown as JSON. Pure.

export interface InputField {
  /** Empty: the whole input is this one value. */
  readonly name: string;
  readonly kind: "text" | "number" | "yes-or-no" | "json";
  readonly text: string;
}

export type ReadInput =
  | { readonly ok: true; readonly input: unknown; readonly isChanged: boolean }
  /** The name of the field, and what is wrong with it. */
  | { readonly ok: false; readonly name: string; readonly problem: string };

export function fieldsOf(input: unknown): InputField[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [fieldOf("", input)];
  return Object.entries(input).map(([name, value]) => fieldOf(name, value));
}

function fieldOf(name: string, value: unknown): InputField {
  if (typeof value === "string") return { name, kind: "text", text: value };
  if (typeof value === "number") return { name, kind: "number", text: String(value) };
  if (typeof value === "boolean") return { name, kind: "yes-or-no", text: String(value) };
  return { name, kind: "json", text: JSON.stringify(value, null, 2) ?? "null" };
}

/** The input with what was written into its fields. Fields that were left alone keep their very value. */
export function readFields(input: unknown, texts: ReadonlyMap<string, string>): ReadInput {
  const changed: [string, unknown][] = [];
  for (const field of fieldsOf(input)) {
    const text = texts.get(field.name) ?? field.text;
    if (text === field.text) continue;
    const read = readText(field, text);
    if (!read.ok) return { ok: false, name: field.name, problem: read.problem };
    changed.push([field.name, read.value]);
  }
  if (changed.length === 0) return { ok: true, input, isChanged: false };
  const [[name, value] = ["", undefined]] = changed;
  if (name === "" && !isRecord(input)) return { ok: true, input: value, isChanged: true };
  return { ok: true, input: { ...(input as object), ...Object.fromEntries(changed) }, isChanged: true };
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type ReadText = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

function readText({ kind }: InputField, text: string): ReadText {
  switch (kind) {
    case "text":
      return { ok: true, value: text };
    case "yes-or-no":
      return { ok: true, value: text === "true" };
    case "number": {
      const value = Number(text);
      const isOne = text.trim() !== "" && Number.isFinite(value);
      return isOne ? { ok: true, value } : { ok: false, problem: "This must be a number." };
    }
    case "json":
      try {
        return { ok: true, value: JSON.parse(text) as unknown };
      } catch {
        return { ok: false, problem: "This must be JSON." };
      }
  }
}
