// One call into the isolate of an extension: with the functions it may use, a deadline, and a limit on what it answers.
// What it answers is not trusted: the modules inside can be tampered with by the extension.
import { beforeDeadline } from "../../host/deadline.ts";
import { realTime } from "../../host/real-time.ts";
import { disposeCall, openIsolate, type IsolateLoader } from "../../sandbox/isolate.ts";
import { isObject } from "../../util/json.ts";
import { ExtensionError } from "./errors.ts";
import { hostFunctions, type HostBridgeInit, type HostFunctions } from "./host-bridge.ts";
import type { CheckedManifest } from "./manifest.ts";

const CPU_MS = 5_000;
/** Characters of JSON that a call may answer. */
const MAX_ANSWER_CHARS = 10_000_000;
const MAX_ERROR_CHARS = 10_000;

/** The methods of the harness in program.ts. */
export interface ExtensionEntrypoint {
  describe(): Promise<unknown>;
  call(name: string, args: string, functions: HostFunctions): Promise<unknown>;
  hook(name: string, snapshots: string, functions: HostFunctions): Promise<unknown>;
  context(label: string, method: string, args: string, functions: HostFunctions): Promise<unknown>;
}

export interface IsolateCall {
  readonly timeoutMs: number;
  /** Stops it: the turn it belongs to is over. */
  readonly signal?: AbortSignal | undefined;
  readonly manifest: CheckedManifest;
  readonly bridge: HostBridgeInit;
}

/** A call did not answer in time. */
export class ExtensionTimeoutError extends ExtensionError {
  constructor(timeoutMs: number) {
    super(`The extension was timed out after ${timeoutMs} ms.`);
  }
}

export function openExtension(loader: IsolateLoader, modules: Readonly<Record<string, string>>): ExtensionEntrypoint {
  return openIsolate<ExtensionEntrypoint>({ loader, modules, cpuMs: CPU_MS });
}

/** The value that the code returned. Throws an Error with the message of what it threw, and ExtensionError. */
export async function callIsolate(
  { manifest, bridge, timeoutMs, signal }: IsolateCall,
  send: (functions: HostFunctions) => Promise<unknown>
): Promise<unknown> {
  const over = new AbortController();
  const ending = AbortSignal.any([over.signal, ...(signal ? [signal] : [])]);
  ending.throwIfAborted();
  const call = send(hostFunctions(manifest, bridge, ending));
  try {
    return answeredValue(await within(call, timeoutMs, signal));
  } finally {
    // Whatever goes on inside reaches nothing any more.
    over.abort();
    disposeCall(call);
  }
}

/** Throws what the code threw. */
export function answeredValue(answer: unknown): unknown {
  const { error, value } = isObject(answer) ? answer : {};
  if (error !== undefined) throw new Error(String(error).slice(0, MAX_ERROR_CHARS));
  if (typeof value !== "string") return undefined;
  if (value.length > MAX_ANSWER_CHARS)
    throw new ExtensionError(`The extension answered more than ${MAX_ANSWER_CHARS} characters.`);
  return parseUntrusted(value);
}

/** Rejects at the deadline, and when the caller stops it. */
export async function within(call: Promise<unknown>, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
  const late = () => new ExtensionTimeoutError(timeoutMs);
  return beforeDeadline(call, { clock: realTime, timeoutMs, late, signals: signal && [signal] });
}

// ── JSON that code of an isolate wrote ──

const SUSPICIOUS = /proto|constructor|\\u/i;

/** Reads JSON without names that reach a prototype when a value is merged into another. Throws for a text that is not JSON. */
export function parseUntrusted(text: string): unknown {
  return SUSPICIOUS.test(text) ? (JSON.parse(text, withoutPrototypes) as unknown) : (JSON.parse(text) as unknown);
}

function withoutPrototypes(this: unknown, key: string, value: unknown): unknown {
  if (key === "__proto__") return undefined;
  const reachesPrototype =
    key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
  return reachesPrototype ? undefined : value;
}
