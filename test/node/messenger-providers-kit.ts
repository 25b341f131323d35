// A Think with one bot, whose provider, model and settings are written by each test.
import type { ToolSet } from "ai";
import { vi } from "vitest";
import type { ActionSet, ApprovalAuthorizationContext } from "../../src/index.ts";
import { Think } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  scriptedModel,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { DRIVERS, type Definition, type Driver } from "./messenger-drivers.ts";
import { settleFor } from "../kit/host.ts";

export interface Bot {
  driver: Driver;
  script: Script;
  definition: Definition;
  actions: () => ActionSet;
  tools: () => ToolSet;
  mayDecide: (context: ApprovalAuthorizationContext) => boolean;
}

export let bot: Bot;

export class Support extends Think {
  override getModel() {
    return scriptedModel(bot.script);
  }

  override getActions() {
    return bot.actions();
  }

  override getTools() {
    return bot.tools();
  }

  override authorizeApproval(context: ApprovalAuthorizationContext) {
    return bot.mayDecide(context);
  }

  keptUploads() {
    return this.sql<{ owner: string }>`SELECT owner FROM cf_blob_owners WHERE owner LIKE 'messenger-upload%'`;
  }

  override getMessengers() {
    return { [bot.driver.name]: bot.driver.messenger(bot.definition) };
  }
}

export type Host = TestHost<{ Support: DurableObjectNamespace<Support> }>;

/** The adapter is loaded before: the host's clock stands still while a module is read. */
export async function openBot(name: string, steps: Step[], changes: Partial<Bot> = {}): Promise<Host> {
  if (name === "telegram") await import("@chat-adapter/telegram");
  const found = DRIVERS.find((driver) => driver.name === name);
  if (!found) throw new Error(`No driver "${name}".`);
  bot = {
    driver: found.open(),
    script: createScript(steps),
    definition: {},
    actions: () => ({}),
    tools: () => ({}),
    mayDecide: () => true,
    ...changes
  };
  vi.stubGlobal("fetch", bot.driver.fake.fetch);
  return createTestHost({ agents: { Support } });
}

export const answered = (host: Host, ms = 5_000) => settleFor(host, ms);

export async function asks(
  host: Host,
  text: string,
  ...how: Parameters<Driver["says"]> extends [string, ...infer R] ? R : never
): Promise<Response> {
  return host.fetch(bot.driver.says(text, ...how));
}
