// Ids of tool calls that are unique in their conversation, whatever the provider says: local models call every first call
// `call_0`, some send no id at all. A call keeps the id its provider gave it as long as no other call has it; otherwise it
// gets one of its own, derived from both. Every part about the call carries the same id, and so does the prompt that the
// provider gets back. Decided by what was streamed and by what is known of the conversation, nothing else.
import type { ModelMessage } from "ai";
import { isUsableId, MAX_CALL_ID_BYTES } from "../util/ids.ts";
import type { ModelPart } from "./coalesce.ts";

/** What is kept of a provider's id in ours: with the rest it stays within what providers accept (64 characters). */
const MAX_STEM_CHARS = 40;
const TAG_CHARS = 8;

/** What is known of a call when its id is asked for. */
interface NewCall {
  readonly given: unknown;
  readonly toolName: unknown;
  readonly isProviders: boolean;
}

/** The ids of one model call, over all its steps. */
export class CallIds {
  readonly #taken: Set<string>;
  /** Tools of the calls that the provider ran itself. It may tell of such a call again in a later step. */
  readonly #providers = new Map<string, unknown>();
  readonly #newest = new Map<string, string>();
  readonly #tag: string;

  /**
   * `taken`: ids of calls that the conversation has already. `scope` names the answer: calls of two answers never share an
   * id of ours.
   */
  constructor({ taken, scope }: { readonly taken: Iterable<string>; readonly scope: string }) {
    this.#tag = scope.replaceAll(/[^A-Za-z0-9]/g, "").slice(0, TAG_CHARS);
    this.#taken = new Set(taken);
  }

  /** For one stream of the model. */
  openStream(): StreamCallIds {
    return new StreamCallIds(this);
  }

  /** The id of a new call. */
  issue(call: NewCall): string {
    const id = this.#isRepeated(call) ? call.given : this.#unused(call.given);
    this.#taken.add(id);
    if (call.isProviders) this.#providers.set(id, call.toolName);
    this.#newest.set(keyOf(call.given), id);
    return id;
  }

  /** The newest call that the provider knows by this id, of whichever step. */
  find(given: unknown): string | undefined {
    return this.#newest.get(keyOf(given)) ?? (isUsable(given) && this.#taken.has(given) ? given : undefined);
  }

  #isRepeated(call: NewCall): call is NewCall & { readonly given: string } {
    const { given, toolName, isProviders } = call;
    return isProviders && isUsable(given) && this.#providers.has(given) && this.#providers.get(given) === toolName;
  }

  #unused(given: unknown): string {
    if (isUsable(given) && !this.#taken.has(given)) return given;
    const stem = typeof given === "string" ? given.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_STEM_CHARS) : "";
    const id = `${stem === "" ? "call" : stem}_${this.#tag}`;
    for (let count = 2; ; count += 1) {
      const candidate = count === 2 ? id : `${id}_${count - 1}`;
      if (!this.#taken.has(candidate)) return candidate;
    }
  }
}

interface OpenInput {
  readonly id: string;
  hasInput: boolean;
  hasEnded: boolean;
}

/** Which call each part of one stream is about. */
export class StreamCallIds {
  readonly #ids: CallIds;
  /** Inputs that were announced and are not complete, by the provider's id, oldest first. */
  readonly #inputs = new Map<string, OpenInput[]>();
  /** Calls whose result the provider still owes, oldest first. */
  readonly #called = new Map<string, string[]>();

  constructor(ids: CallIds) {
    this.#ids = ids;
  }

  /** The part with our id; undefined for one about a call that does not exist. Other parts as they are. */
  apply(part: ModelPart): ModelPart | undefined {
    const fields: ModelPart & { readonly [field: string]: unknown } = { ...part };
    switch (part.type) {
      case "tool-input-start":
        return withId(fields, "id", this.#start(newCall(fields["id"], fields)));
      case "tool-input-delta":
        return withId(fields, "id", this.#input(fields["id"]));
      case "tool-input-end":
        return withId(fields, "id", this.#end(fields["id"]));
      case "tool-call":
        return withId(fields, "toolCallId", this.#call(newCall(fields["toolCallId"], fields)));
      case "tool-result":
        return withId(fields, "toolCallId", this.#result(fields["toolCallId"], fields["preliminary"] === true));
      case "tool-approval-request":
        return withId(fields, "toolCallId", this.#ids.find(fields["toolCallId"]));
      default:
        return part;
    }
  }

  #start(call: NewCall): string | undefined {
    const open = listIn(this.#inputs, call.given);
    const last = open.at(-1);
    // Announced twice, before anything of it came.
    if (last !== undefined && !last.hasInput && !last.hasEnded) return undefined;
    const id = this.#ids.issue(call);
    open.push({ id, hasInput: false, hasEnded: false });
    return id;
  }

  #input(given: unknown): string | undefined {
    const input = this.#inputs.get(keyOf(given))?.findLast(({ hasEnded }) => !hasEnded);
    if (input !== undefined) input.hasInput = true;
    return input?.id;
  }

  #end(given: unknown): string | undefined {
    const input = this.#inputs.get(keyOf(given))?.find(({ hasEnded }) => !hasEnded);
    if (input !== undefined) input.hasEnded = true;
    return input?.id;
  }

  #call(call: NewCall): string {
    const id = this.#inputs.get(keyOf(call.given))?.shift()?.id ?? this.#ids.issue(call);
    listIn(this.#called, call.given).push(id);
    return id;
  }

  #result(given: unknown, isPreliminary: boolean): string | undefined {
    const called = this.#called.get(keyOf(given)) ?? [];
    // The last one stays: a result may be sent again.
    const id = isPreliminary || called.length < 2 ? called[0] : called.shift();
    return id ?? this.#ids.find(given);
  }
}

/** Ids of all tool calls of a prompt. */
export function callIdsOfPrompt(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap((message) => {
    if (message.role !== "assistant" || typeof message.content === "string") return [];
    return message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
  });
}

function newCall(given: unknown, part: { readonly [field: string]: unknown }): NewCall {
  return { given, toolName: part["toolName"], isProviders: part["providerExecuted"] === true };
}

function withId(part: ModelPart, name: "id" | "toolCallId", id: string | undefined): ModelPart | undefined {
  return id === undefined ? undefined : { ...part, [name]: id };
}

function isUsable(given: unknown): given is string {
  return isUsableId(given, MAX_CALL_ID_BYTES) && !(given in Object.prototype);
}

/** All ids that are no text are one id: a provider that sends none sends one call after the other. */
function keyOf(given: unknown): string {
  return typeof given === "string" ? `text ${given}` : "none";
}

function listIn<T>(map: Map<string, T[]>, given: unknown): T[] {
  const key = keyOf(given);
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
