// Agents the conformance suite drives, on the in-process host and in workerd alike.
import {
  Agent,
  callable,
  getCurrentAgent,
  type StreamingResponse,
  type Connection,
  type ConnectionContext
} from "../../src/agent-class/index.ts";
import type { AgentPathStep } from "../../src/host/path.ts";

interface Env {
  Room: DurableObjectNamespace<Room>;
}

type RoomState = { count: number; note?: string } | null | number | string | boolean;

/** A bit of everything a client can see. */
export class Room extends Agent<Env, RoomState, { greeting?: string }> {
  static callables = {
    increment: {},
    fail: {},
    failOddly: {},
    nothing: {},
    whoAmI: {},
    touchState: {},
    describe: { description: "What this room is" },
    count: { streaming: true },
    countThenThrow: { streaming: true },
    forgetToEnd: { streaming: true },
    endTwice: { streaming: true },
    waitForClose: { streaming: true },
    setNote: {},
    remember: {},
    recall: {},
    lock: {},
    spawnMember: {},
    circular: {}
  };
  override initialState: RoomState = { count: 0 };
  starts = 0;
  log: string[] = [];
  #seen: unknown[] = [];

  override onStart(props?: { greeting?: string }) {
    this.sql`CREATE TABLE IF NOT EXISTS journal (entry TEXT)`;
    this.note(`start:${props?.greeting ?? ""}`);
    if (this.name.startsWith("fail-once") && this.entries().length === 1) throw new Error("first start fails");
  }

  override onConnect(connection: Connection, { request }: ConnectionContext) {
    this.note(`connect:${connection.id}`);
    if (new URL(request.url).searchParams.has("explode")) throw new Error("secret stack");
    connection.send(JSON.stringify({ type: "welcome", request: getCurrentAgent().request === request }));
  }

  override onMessage(connection: Connection, message: string | ArrayBuffer) {
    const size = typeof message === "string" ? message.length : message.byteLength;
    connection.send(JSON.stringify({ type: "echo", kind: typeof message === "string" ? "text" : "binary", size }));
    if (message === "throw") throw new Error("message handler failed");
  }

  override onClose(connection: Connection, code: number) {
    this.note(`close:${connection.id}:${code}`);
  }

  override onError(...args: unknown[]) {
    this.note(`error:${(args.at(-1) as Error).message}`);
    if (this.name.startsWith("strict")) throw args.at(-1);
  }

  override onRequest(request: Request) {
    const url = new URL(request.url);
    if (url.pathname.endsWith("/boom")) throw new Error("secret: /src/internal.ts");
    return Response.json({
      name: this.name,
      path: url.pathname,
      search: url.search,
      sameRequest: getCurrentAgent().request === request
    });
  }

  override getConnectionTags(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.getAll("tag");
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.has("readonly");
  }

  override shouldSendProtocolMessages(_connection: Connection, { request }: ConnectionContext) {
    return !new URL(request.url).searchParams.has("silent");
  }

  override validateStateChange(next: RoomState) {
    if (typeof next === "object" && next !== null && next.count < 0) throw new Error("count must not be negative");
  }

  override onStateChanged(next: RoomState, source: Connection | "server") {
    this.#seen.push([next, source === "server" ? "server" : source.id]);
  }

  note(entry: string) {
    this.sql`INSERT INTO journal VALUES (${entry})`;
  }

  entries(): string[] {
    return this.sql<{ entry: string }>`SELECT entry FROM journal`.map(({ entry }) => entry);
  }

  stateChanges() {
    return this.#seen;
  }

  increment(by = 1) {
    const count = typeof this.state === "object" && this.state ? this.state.count : 0;
    this.setState({ count: count + by });
    return count + by;
  }

  write(state: RoomState) {
    this.setState(state);
  }

  writeThrice() {
    for (const count of [1, 2, 3]) this.setState({ count });
    this.broadcast('{"type":"after"}');
  }

  read() {
    return { state: this.state };
  }

  setNote(note: string) {
    this.setState({ count: 1, note });
  }

  fail() {
    throw new Error("as asked");
  }

  failOddly() {
    throw "a bare string";
  }

  nothing() {}

  circular() {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    return value;
  }

  describe() {
    return "a room";
  }

  notCallable() {
    return "secret";
  }

  async whoAmI() {
    const before = currentConnectionId();
    await Promise.resolve();
    return [before, currentConnectionId(), getCurrentAgent().agent === this];
  }

  touchState() {
    this.setState({ count: 99 });
  }

  remember(value: unknown) {
    getCurrentAgent().connection?.setState(value);
  }

  recall() {
    const { connection } = getCurrentAgent();
    return {
      state: connection?.state,
      tags: connection?.tags,
      uri: connection?.uri,
      readonly: connection && this.isConnectionReadonly(connection)
    };
  }

  lock() {
    const { connection } = getCurrentAgent();
    if (connection) this.setConnectionReadonly(connection);
  }

  async count(stream: StreamingResponse, to: number) {
    for (let n = 1; n <= to; n++) stream.send(n);
    stream.end("done");
  }

  countThenThrow(stream: StreamingResponse) {
    stream.send(1);
    throw new Error("half way");
  }

  forgetToEnd(stream: StreamingResponse) {
    stream.send("only");
  }

  endTwice(stream: StreamingResponse) {
    return [stream.end(1), stream.end(2), stream.error("x")];
  }

  async waitForClose(stream: StreamingResponse) {
    stream.send("open");
    await new Promise<void>((resolve) => stream.signal.addEventListener("abort", () => resolve()));
    this.note("stream-aborted");
  }

  async spawnMember(name: string) {
    const member = await this.subAgent(Member, name);
    return member.hello();
  }

  async members() {
    return this.listSubAgents(Member).map(({ name }) => name);
  }

  connectionIds(tag?: string) {
    return [...this.getConnections(tag)].map(({ id }) => id);
  }

  shout(message: string) {
    this.broadcast(message);
  }

  abortMember(name: string) {
    this.abortSubAgent(Member, name, "stop");
  }

  async dropMember(name: string) {
    await this.deleteSubAgent(Member, name);
    return this.hasSubAgent("Member", name);
  }

  override onBeforeSubAgent(request: Request, child: AgentPathStep) {
    this.note(`before:${child.className}:${child.name}:${getCurrentAgent().request === request}`);
    if (child.name === "forbidden") return new Response("no entry", { status: 401 });
    return undefined;
  }
}

function currentConnectionId() {
  return getCurrentAgent().connection?.id;
}

/** A sub-agent, to any depth. */
export class Member extends Agent<Env, { mood: string }> {
  static callables = ["setMood", "hello", "remember", "recall", "burst"];
  override initialState = { mood: "calm" };

  override onStart() {
    if (this.name === "unstartable") throw new Error("cannot start");
  }

  override onConnect(connection: Connection) {
    connection.send(JSON.stringify({ type: "member-welcome", name: this.name }));
  }

  override onMessage(connection: Connection, message: string | ArrayBuffer) {
    connection.send(JSON.stringify({ type: "member-echo", name: this.name, message: String(message) }));
  }

  override onBeforeSubAgent(_request: Request, child: AgentPathStep) {
    return child.name === "forbidden" ? new Response("no", { status: 403 }) : undefined;
  }

  override onRequest(request: Request) {
    const url = new URL(request.url);
    return Response.json({ member: this.name, path: url.pathname, search: url.search });
  }

  hello() {
    return {
      name: this.name,
      path: this.selfPath.map(({ className, name }) => `${className}/${name}`),
      context: getCurrentAgent().connection?.id
    };
  }

  setMood(mood: string) {
    this.setState({ mood });
  }

  remember(value: unknown) {
    getCurrentAgent().connection?.setState(value);
  }

  recall() {
    return getCurrentAgent().connection?.state;
  }

  burst(count: number) {
    const { connection } = getCurrentAgent();
    for (let n = 0; n < count; n++) {
      if (n % 2) connection?.send(JSON.stringify({ type: "burst", n }));
      else this.broadcast(JSON.stringify({ type: "burst", n }));
    }
  }

  shout(message: string) {
    this.broadcast(message);
  }

  connections() {
    return [...this.getConnections()].map(({ id, state }) => ({ id, state }));
  }

  async nest(names: string[]): Promise<unknown> {
    const [name, ...rest] = names;
    if (name === undefined) return this.hello();
    const child = await this.subAgent(Member, name);
    return child.nest(rest);
  }

  async nestAndRemind(names: string[], seconds: number): Promise<void> {
    const [name, ...rest] = names;
    if (name === undefined) return void (await this.remindMe(seconds, this.name));
    const child = await this.subAgent(Member, name);
    await child.nestAndRemind(rest, seconds);
  }

  async connectionsBelow(name: string) {
    return (await this.subAgent(Member, name)).connections();
  }

  async shoutBelow(name: string, message: string) {
    await (await this.subAgent(Member, name)).shout(message);
  }

  async askParentFromBelow(name: string) {
    return (await this.subAgent(Member, name)).askParent();
  }

  async helloParentFromBelow(name: string) {
    return (await this.subAgent(Member, name)).helloParent();
  }

  async describeRootFromBelow(name: string) {
    return (await this.subAgent(Member, name)).describeRoot();
  }

  async helloParent() {
    return (await this.parentAgent(Member)).hello();
  }

  async describeRoot() {
    return (await this.parentAgent(Room, { level: 2 })).describe();
  }

  mark(entry: string) {
    this.sql`CREATE TABLE IF NOT EXISTS marks (entry TEXT)`;
    this.sql`INSERT INTO marks VALUES (${entry})`;
  }

  marks(): string[] {
    this.sql`CREATE TABLE IF NOT EXISTS marks (entry TEXT)`;
    return this.sql<{ entry: string }>`SELECT entry FROM marks`.map(({ entry }) => entry);
  }

  async remindMe(seconds: number, entry: string) {
    const { id } = await this.schedule(seconds, "mark", entry);
    return id;
  }

  async cancelReminder(id: string) {
    return this.cancelSchedule(id);
  }

  async reminders() {
    return (await this.listSchedules()).map(({ id }) => id);
  }

  async askParent() {
    const room = await this.parentAgent(Room);
    return room.describe();
  }

  async end() {
    await this.destroy();
  }
}

/** Its callables are marked by hand, one override without a mark. */
export class Marked extends Agent<Env> {
  plain() {
    return "base";
  }
  renamed() {
    return "base";
  }
}
callable({ description: "marked" })(Marked.prototype.plain, {});
callable()(Marked.prototype.renamed, {});

export class MarkedChild extends Marked {
  override renamed() {
    return "override";
  }
}
