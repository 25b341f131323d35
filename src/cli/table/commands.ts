// Every command there is, in the order of the overview. Small: each start of the program reads it.
import type { CommandDefinition } from "../command-line.ts";
import { AGENT_COMMANDS } from "./agent-commands.ts";
import { PROJECT_COMMANDS } from "./project-commands.ts";
import { SERVER_COMMANDS } from "./server-commands.ts";

export const COMMANDS: readonly CommandDefinition[] = [...PROJECT_COMMANDS, ...AGENT_COMMANDS, ...SERVER_COMMANDS];
