// The example of docs/mcp.md without a conversation.
import { Agent } from "everthink/agent";

export class Indexer extends Agent {
  async search(query: string) {
    const { id } = await this.addMcpServer("docs", "https://docs.example.com/mcp");
    return this.mcp.callTool({ serverId: id, name: "search", arguments: { query } });
  }
}
