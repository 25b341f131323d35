// Values as hooks of extensions are given them: plain JSON of bounded depth and size. Pure, and never throws.

const MAX_DEPTH = 6;
const MAX_CHARS = 64_000;
const CUT = "… [cut]";

/** Room for the text of one value. */
interface Budget {
  left: number;
  isCut: boolean;
}

/**
 * Functions, symbols and signals are left out, so is what is nested deeper than six levels or refers to itself. What is too
 * long is cut; then the field `truncated` of an object is true.
 */
export function snapshotOf(value: object): Record<string, unknown> {
  const budget: Budget = { left: MAX_CHARS, isCut: false };
  const copied = copy(value, { budget, depth: 0, above: new Set() });
  const fields = typeof copied === "object" && copied !== null ? (copied as Record<string, unknown>) : {};
  return budget.isCut ? { ...fields, truncated: true } : fields;
}

interface Place {
  readonly budget: Budget;
  readonly depth: number;
  /** What holds it: one of them again is a loop. */
  readonly above: ReadonlySet<object>;
}

function copy(value: unknown, place: Place): unknown {
  switch (typeof value) {
    case "string":
      return text(value, place.budget);
    case "bigint":
      return text(String(value), place.budget);
    case "number":
    case "boolean":
      place.budget.left -= 8;
      return typeof value === "number" && !Number.isFinite(value) ? null : value;
    case "object":
      return value === null ? null : copyObject(value, place);
    default:
      return undefined;
  }
}

function copyObject(value: object, { budget, depth, above }: Place): unknown {
  if (value instanceof AbortSignal || above.has(value)) return undefined;
  if (value instanceof Error) return { name: text(value.name, budget), message: text(value.message, budget) };
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (depth >= MAX_DEPTH) return undefined;
  const place = { budget, depth: depth + 1, above: new Set([...above, value]) };
  if (Array.isArray(value)) return copyList(value, place);
  const fields: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (isFull(budget)) break;
    if (key === "__proto__") continue;
    const one = copy(read(value, key), place);
    if (one === undefined) continue;
    budget.left -= key.length + 4;
    fields[key] = one;
  }
  return fields;
}

function copyList(list: readonly unknown[], place: Place): unknown[] {
  const copied: unknown[] = [];
  for (const one of list) {
    if (isFull(place.budget)) break;
    place.budget.left -= 2;
    copied.push(copy(one, place) ?? null);
  }
  return copied;
}

function isFull(budget: Budget): boolean {
  if (budget.left > 0) return false;
  budget.isCut = true;
  return true;
}

/** A getter may throw. */
function read(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    // Nothing can be shown of it.
    return undefined;
  }
}

function text(value: string, budget: Budget): string {
  const fitting = Math.max(0, budget.left);
  budget.left -= value.length + 2;
  if (value.length <= fitting) return value;
  budget.isCut = true;
  return value.slice(0, fitting) + CUT;
}
