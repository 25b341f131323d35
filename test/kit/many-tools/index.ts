// 1,000 tools of 20 MCP servers.
import { BUSINESS_SERVERS } from "./business-servers.ts";
import { serverTools, type ServerTools } from "./build.ts";
import { CODE_SERVERS } from "./code-servers.ts";
import { OFFICE_SERVERS } from "./office-servers.ts";
import { WORK_SERVERS } from "./work-servers.ts";

export type { ServerTools };

export const SERVERS: readonly ServerTools[] = [
  ...CODE_SERVERS,
  ...WORK_SERVERS,
  ...OFFICE_SERVERS,
  ...BUSINESS_SERVERS
].map(serverTools);
