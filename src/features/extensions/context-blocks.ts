// The context blocks of an extension. A text is kept by the session; a collection is served by the source, in an isolate of
// its own per call, with a deadline.
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import { errorMessage } from "../../util/errors.ts";
import type { HostBridgeInit } from "./host-bridge.ts";
import { callIsolate, openExtension } from "./isolate-call.ts";
import type { CheckedManifest, ExtensionContext } from "./manifest.ts";
import type { OpenedSource } from "./open-source.ts";

/** A context block under its full label. */
export interface ExtensionBlock extends ExtensionContext {
  /** What the source answers for a collection; see `ExtensionContext.type`. `get` never throws. */
  readonly serve: (method: "get" | "load" | "search" | "set", args: readonly string[]) => Promise<string | null>;
  /** Whether the source takes entries of a collection. */
  readonly takesEntries: boolean;
}

interface BlockOwner extends Pick<OpenedSource, "modules" | "blocks"> {
  readonly manifest: CheckedManifest;
  readonly prefix: string;
}

interface BlockCalls {
  readonly loader: IsolateLoader;
  readonly bridge: HostBridgeInit;
  readonly timeoutMs: () => number;
}

export function blocksOf(owner: BlockOwner, calls: BlockCalls): ExtensionBlock[] {
  return owner.manifest.context.map((declared) => blockOf(owner, declared, calls));
}

function blockOf(owner: BlockOwner, declared: ExtensionContext, calls: BlockCalls): ExtensionBlock {
  const { manifest, prefix, modules, blocks } = owner;
  const label = `${prefix}_${declared.label}`;
  let lastGood: string | null = null;
  const call = async (method: string, args: readonly string[]): Promise<string | null> => {
    const isolate = openExtension(calls.loader, modules);
    const limits = { timeoutMs: calls.timeoutMs(), manifest, bridge: calls.bridge };
    const value = await callIsolate(limits, (functions) =>
      isolate.context(declared.label, method, JSON.stringify(args), functions)
    );
    return typeof value === "string" ? value : null;
  };
  return {
    ...declared,
    label,
    takesEntries: blocks.get(declared.label)?.has("set") ?? false,
    serve: async (method, args) => {
      if (method !== "get") return call(method, args);
      try {
        lastGood = await call(method, args);
      } catch (error) {
        console.warn(`The context block "${label}" shows what it had before: ${errorMessage(error)}`);
      }
      return lastGood;
    }
  };
}
