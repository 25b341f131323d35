// The examples of docs/client.md.
import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";
import { createThinkClient, type ThinkClientOptions } from "everthink/client";
import { useThink } from "everthink/react";

export class Planner extends Think<unknown, { theme: string }> {
  static override callables = ["daysUntil"] as const;
  override initialState = { theme: "light" };

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  daysUntil(date: string): number {
    return Math.ceil((Date.parse(date) - Date.UTC(2030, 0, 1)) / 86_400_000);
  }
}

export function openChat(options: ThinkClientOptions, show: (line: string) => void) {
  const client = createThinkClient<typeof Planner>(options);
  client.subscribe(() => {
    const { messages, status, error, connectionError } = client.getSnapshot();
    const problem = connectionError ?? error;
    show(`${messages.length} messages, ${status}${problem ? `: ${problem}` : ""}`);
  });
  return client;
}

export async function planTrip(client: ReturnType<typeof openChat>) {
  const { outcome } = await client.send("Plan a trip to Oslo.");
  if (outcome === "error") await client.regenerate();
  client.setState({ theme: "dark" });
  return client.call("daysUntil", ["2030-02-01"], { timeoutMs: 5_000 });
}

export async function showVersion(client: ReturnType<typeof openChat>, messageId: string, step: 1 | -1) {
  const versions = (await client.branches())[messageId] ?? [messageId];
  const next = versions[versions.indexOf(messageId) + step];
  if (next !== undefined) await client.selectBranch(next);
  return `${versions.indexOf(next ?? messageId) + 1} of ${versions.length}`;
}

export const browserTools: ThinkClientOptions["tools"] = {
  screenSize: {
    description: "How large the window is.",
    execute: () => ({ width: 1280, height: 720 })
  },
  openDialog: {
    description: "Asks the user something in a dialog.",
    parameters: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
    rerun: false,
    execute: async ({ question }: { question: string }) => `The user was asked: ${question}`
  }
};

export async function decideAll(client: ReturnType<typeof openChat>, mayRun: (toolName: string) => boolean) {
  for (const asked of client.getSnapshot().pendingApprovals) {
    // Only a person can find out whether it ran.
    if (asked.mayHaveRun) continue;
    if (mayRun(asked.toolName)) await client.approve(asked);
    else await client.reject(asked, "Not today.");
  }
}

export function useConversation(options: ThinkClientOptions) {
  const { messages, status, send, stop } = useThink<typeof Planner>(options);
  const isBusy = status === "queued" || status === "running" || status === "recovering";
  return { messages, isBusy, submit: (text: string) => void send(text), stop };
}
