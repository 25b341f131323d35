import { routeAgentRequest } from "../../src/agent-class/index.ts";

export { Room, Member, Marked, MarkedChild } from "../conformance/agents.ts";
export { Library, Importer } from "../conformance/workflow-agents.ts";
export { HookRecorder } from "../conformance/hook-recorder.ts";
export { Bot } from "./bot.ts";
export { Clerk } from "./clerk.ts";
export { Programmer } from "./coder.ts";
export { Harbour } from "./harbour.ts";
export { Extended, ExtendedChild } from "./extended.ts";
export { HostBridgeLoopback } from "../../src/features/extensions/index.ts";
export { Librarian } from "./librarian.ts";
export { Captain, Sailor } from "./crew.ts";
export { Hand, Purser } from "./purser.ts";
export { Releaser } from "./releaser.ts";
export { Talker } from "./talker.ts";
export { Triage, Triager } from "./triager.ts";

export default {
  async fetch(request: Request, env: object): Promise<Response> {
    return (await routeAgentRequest(request, env, { cors: true })) ?? new Response("no agent", { status: 404 });
  }
};
