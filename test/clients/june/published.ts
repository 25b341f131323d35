import { useAgentChat } from "@cloudflare/ai-chat/react";
import { AgentClient, agentFetch } from "agents/client";
import { useAgent, useAgentToolEvents } from "agents/react";
import type { Room } from "../../process/clients/room-worker.ts";
import type { ClientOptions, Generation, HookOptions, RoomState } from "../generation.ts";
import manifest from "./package.json" with { type: "json" };

export const june: Generation = {
  version: `agents ${manifest.dependencies.agents}`,
  reportsFinalClose: false,
  connect: <State>(options: ClientOptions<State>) => new AgentClient<unknown, State>(options),
  connectToRoom: (options: ClientOptions<RoomState>) => new AgentClient<Room>(options),
  useAgent: <State>(options: HookOptions<State>) => useAgent<State>(options),
  useAgentToolEvents: ({ agent }) => useAgentToolEvents({ agent: agent as ReturnType<typeof useAgent> }),
  useChatPage: (options) => {
    const agent = useAgent(options);
    return { agent, chat: useAgentChat({ agent }) };
  },
  fetch: (options, init) => agentFetch(options, init)
};
