// agents/support.ts
import { Agent, type Connection, type ConnectionContext } from "everthink/agent";

export default class Support extends Agent {
  override onConnect(connection: Connection, { request }: ConnectionContext) {
    connection.setState({ user: userOf(request) });
  }

  override onMessage(connection: Connection) {
    const { user } = connection.state as { user: string };
    connection.send(`${user} asks ${this.name}'s agent`);
  }

  override async onRequest(request: Request) {
    return new Response(`${userOf(request)} asks ${this.name}'s agent`);
  }
}

/** As src/server.ts wrote it. */
const userOf = ({ headers }: Request) => decodeURIComponent(headers.get("x-user") ?? "");
