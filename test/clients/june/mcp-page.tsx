// The published hook's page about MCP servers.
import { useAgent } from "agents/react";
import { useState } from "react";
import { McpView, NO_SERVERS } from "../../browser/page/mcp-view.tsx";
import { mount } from "../../browser/page/mount.tsx";
import { readPageSettings } from "../../browser/page/settings.ts";

const { host, name } = readPageSettings(location.search);

function Page() {
  const [mcp, setMcp] = useState(NO_SERVERS);
  const agent = useAgent({ host, agent: "reader", name, onMcpUpdate: setMcp });
  return <McpView mcp={mcp} call={(method, args) => agent.call(method, args)} />;
}

mount(<Page />);
