// Calls of tools that a turn has and a step does not offer. They become calls of another tool before the SDK sees them:
// it would refuse them as unknown. What the provider is sent is put in the order in which the tools were offered, so that
// one more tool at the end leaves the beginning of the prompt as it was.
import type { Json } from "../util/json.ts";
import type { ModelPart } from "./coalesce.ts";

/** What a turn offers of its tools. The answers may change from step to step, not within one. */
export interface OfferedTools {
  /** Names of the tools that the model is offered in this step, in order. */
  names(): readonly string[];
  /** What takes the place of a call; undefined: it is left as it is. */
  redirect(toolName: string): RedirectedCall | undefined;
}

export interface RedirectedCall {
  readonly toolName: string;
  readonly input: Json;
}

/** The tools of a call to a provider, those that are named in their order, others in front of them. */
export function orderedTools<Tool extends { readonly name: string }>(
  tools: readonly Tool[],
  names: readonly string[]
): readonly Tool[] {
  const ranks = new Map(names.map((name, index) => [name, index]));
  const rank = ({ name }: Tool) => ranks.get(name) ?? -1;
  return tools.toSorted((one, other) => rank(one) - rank(other));
}

/** Rewrites the calls of one stream. */
export class CallRedirects {
  readonly #offered: OfferedTools;
  /** Calls that are being rewritten, by id. */
  readonly #calls = new Map<string, RedirectedCall>();

  constructor(offered: OfferedTools) {
    this.#offered = offered;
  }

  /** What stands for a part; none while the input of a rewritten call streams. */
  apply(part: ModelPart): readonly ModelPart[] {
    const { id, toolCallId, toolName } = part as ModelPart & Partial<ToolFields>;
    switch (part.type) {
      case "tool-input-start":
        return [this.#renamed(part, String(id), toolName)];
      case "tool-input-delta":
        return this.#calls.has(String(id)) ? [] : [part];
      case "tool-input-end": {
        const call = this.#calls.get(String(id));
        if (call === undefined) return [part];
        return [{ type: "tool-input-delta", id, delta: JSON.stringify(call.input) } as ModelPart, part];
      }
      case "tool-call": {
        const renamed = this.#renamed(part, String(toolCallId), toolName);
        const call = this.#calls.get(String(toolCallId));
        return [call === undefined ? part : ({ ...renamed, input: JSON.stringify(call.input) } as ModelPart)];
      }
      default:
        return [part];
    }
  }

  #renamed(part: ModelPart, callId: string, toolName: string | undefined): ModelPart {
    // What a provider runs by itself is its own affair.
    const isOwn = toolName !== undefined && (part as Partial<ToolFields>).providerExecuted !== true;
    const call = isOwn ? this.#offered.redirect(toolName) : undefined;
    if (call === undefined) return part;
    this.#calls.set(callId, call);
    return { ...part, toolName: call.toolName } as ModelPart;
  }
}

/** Of the parts of a call, in every specification version. */
interface ToolFields {
  readonly id: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly providerExecuted: boolean;
}
