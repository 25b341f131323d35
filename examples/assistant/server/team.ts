// The assistant's colleagues as tools: agents of their own (agents/assistant/agents/), each with its own conversation.
import { agentTool } from "everthink";
import { Critic } from "../agents/assistant/agents/critic.ts";
import { Researcher } from "../agents/assistant/agents/researcher.ts";
import { questionSchema } from "./colleague.ts";

export const teamTools = {
  ask_researcher: agentTool(Researcher, {
    description: "Ask the researcher a question. It works on its own and reports what it found.",
    inputSchema: questionSchema,
    displayName: "Researcher"
  }),
  ask_critic: agentTool(Critic, {
    description: "Ask the critic for objections to a claim or a question. It works on its own and reports.",
    inputSchema: questionSchema,
    displayName: "Critic"
  })
};
