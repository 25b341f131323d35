// What user code is handed: the part of the engine's turn that it may see, and the SDK's events as plain values. All of
// it can be cloned, stored and returned over RPC. What by nature cannot (signals, models, tools, the user's own runtime
// context) can be read and is left out of copies.
import type { ChunkEvent, StepEnd, StepStart } from "../model/index.ts";
import type { TurnView } from "../turn/turn.ts";
import { withHidden } from "../util/hidden-fields.ts";
import type { ChunkContext, PrepareStepContext, StepContext, TurnDetails } from "../feature/hooks.ts";

/** How deep results of tools are looked into. */
const MAX_DEPTH = 64;

/** The same fields with the turn's details. */
export function withDetails<Fields extends object>(fields: Fields, turn: TurnView): Fields & TurnDetails {
  const { turnId, requestId, attempt, signal, steered } = turn;
  const steeredFrom = steered && { steeredFrom: steered.fromRequestId };
  return withHidden({ ...fields, turnId, requestId, attempt, ...steeredFrom }, { signal });
}

export function stepStartContext(event: StepStart, turn: TurnView): PrepareStepContext {
  const { model, steps, experimental_context, runtimeContext, toolsContext, experimental_sandbox, ...plain } = event;
  const context = withDetails({ ...plain, steps: steps.map(plainStep) }, turn);
  return withHidden(context, { model, experimental_context, runtimeContext, toolsContext, experimental_sandbox });
}

export function stepEndContext(event: StepEnd, turn: TurnView): StepContext {
  const step = plainStep(event);
  const { runtimeContext, toolsContext } = step;
  return withHidden(withDetails(step, turn), { runtimeContext, toolsContext });
}

export function chunkContext({ chunk, ...event }: ChunkEvent, turn: TurnView): ChunkContext {
  return withDetails({ ...event, chunk: plainPart(chunk) }, turn);
}

/** One step is in the events of all that follow it. */
const plainSteps = new WeakMap<object, StepEnd>();

/** The SDK's result of a step without its class: what its getters say are fields. */
function plainStep(step: StepEnd): StepEnd {
  const known = plainSteps.get(step);
  if (known !== undefined) return known;
  const prototype: object = Object.getPrototypeOf(step);
  const source: StepEnd = Object.create(prototype);
  Object.assign(source, step, { content: step.content.map(plainPart) });
  const getters = Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(
    ([, { get }]) => get !== undefined
  );
  const read = getters.map(([name]) => [name, Reflect.get(source, name)] as const);
  const { runtimeContext, toolsContext, ...fields } = source;
  // It has every field of a step now.
  const plain = withHidden({ ...fields, ...Object.fromEntries(read) }, { runtimeContext, toolsContext }) as StepEnd;
  plainSteps.set(step, plain);
  return plain;
}

/** The same part; a file in it and the result of a tool become values that can be copied. */
function plainPart<Part extends object>(part: Part): Part {
  if ("file" in part) return withPlainFile(part);
  return "output" in part ? { ...part, output: copyableOutput(part.output) } : part;
}

/** What a tool returned. Its JSON, if it holds something that cannot be copied: that is what is stored of it. */
export function copyableOutput(output: unknown): unknown {
  if (isCopyable(output)) return output;
  const text = JSON.stringify(output);
  return text === undefined ? undefined : JSON.parse(text);
}

/** Plain values, and those that the platform copies. It refuses objects of other classes. */
function isCopyable(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function" && typeof value !== "symbol";
  if (value instanceof Date || value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null || prototype === Array.prototype;
  return isPlain && depth < MAX_DEPTH && Object.values(value).every((inner) => isCopyable(inner, depth + 1));
}

interface GeneratedFile {
  readonly mediaType: string;
  readonly base64: string;
  readonly uint8Array: Uint8Array;
}

/** A file that a model made is an object of a class, which makes the other form of its bytes when it is asked for. */
function withPlainFile<Part extends object>(part: Part): Part {
  if (!("file" in part) || typeof part.file !== "object" || part.file === null) return part;
  const file = part.file as GeneratedFile & { readonly type?: string };
  return {
    ...part,
    file: {
      ...(file.type !== undefined && { type: file.type }),
      mediaType: file.mediaType,
      get base64() {
        return file.base64;
      },
      get uint8Array() {
        return file.uint8Array;
      }
    }
  };
}
