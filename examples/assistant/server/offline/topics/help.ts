// The answer to everything it does not know: what it is, what it can show, and how to get a real model.
import { SUGGESTIONS } from "../../../shared/suggestions.ts";
import type { Topic } from "../topic.ts";

const LIST = SUGGESTIONS.map(({ title, prompt }) => `- **${title}**: ${prompt}`).join("\n");

const HELP = `I am the built-in offline model of this demonstration: a small script with no understanding of language, so I cannot answer that. Everything around me is real: the tools, the approvals, the memory, and the recovery after a crash. These I can show you:

${LIST}
- **Another skill**: Write an entry into the log.
- **A tool of its own**: Write yourself a tool that judges the wind.
- **Markdown**: Show me some markdown.
- **Arithmetic**: What is 12 * (3 + 4)?
- **MCP servers**: add one in the panel, then call a tool by its name: Use echo with "hello".

To talk to a real model, set \`OPENAI_API_KEY\`, \`ANTHROPIC_API_KEY\` or \`GOOGLE_GENERATIVE_AI_API_KEY\`, or \`OPENAI_COMPATIBLE_URL\` and \`MODEL\` for a server of your own, and start again.`;

export const help: Topic = {
  isAbout: () => true,
  plan: () => [{ text: HELP }]
};
