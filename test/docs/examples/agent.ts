import { Agent, getSubAgentByName, getAgentByName } from "everthink/agent";
import type { Connection, ConnectionContext, FiberRecoveryContext, StreamingResponse } from "everthink/agent";

interface Env {
  Poll: DurableObjectNamespace<Poll>;
  Desk: DurableObjectNamespace<Desk>;
}

// docs: state
export class Poll extends Agent<Env, { votes: Record<string, number> }> {
  static callables = { vote: { description: "Adds a vote" }, countdown: { streaming: true } };
  override initialState = { votes: {} as Record<string, number> };

  vote(option: string) {
    const votes = { ...this.state.votes, [option]: (this.state.votes[option] ?? 0) + 1 };
    this.setState({ votes }); // stored, then sent to every client
    return votes[option];
  }

  override validateStateChange(next: { votes: Record<string, number> }) {
    if (Object.keys(next.votes).length > 100) throw new Error("At most 100 options");
  }

  async countdown(stream: StreamingResponse, from: number) {
    for (let n = from; n > 0 && !stream.isClosed; n--) stream.send(n);
    stream.end("go");
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.get("role") === "viewer";
  }
}

// docs: time
export class Desk extends Agent<Env> {
  sent: string[] = [];

  override async onStart() {
    await this.schedule("0 9 * * 1-5", "standUp"); // cron in UTC, declared once however often this runs
    await this.scheduleEvery(300, "poll");
  }

  async order(item: string) {
    await this.schedule(60, "confirm", { item }); // once, a minute from now
    await this.queue("mail", { item }); // soon, in order
  }

  // docs: fiber
  importAll(pages: number) {
    const options = { idempotencyKey: "import", metadata: { pages } };
    return this.startFiber("import", (fiber) => this.importFrom(0, pages, fiber.stash), options);
  }

  async importFrom(first: number, pages: number, stash: (data: unknown) => void) {
    for (let page = first; page < pages; page++) {
      await this.importPage(page);
      stash(page + 1);
    }
  }

  override async onFiberRecovered({ name, snapshot, metadata }: FiberRecoveryContext) {
    if (name !== "import") return;
    const next = (snapshot as number | null) ?? 0; // null: cut off before its first checkpoint
    await this.runFiber("import", (fiber) => this.importFrom(next, Number(metadata?.["pages"]), fiber.stash));
    return { status: "completed" as const };
  }
  // docs: end

  async importPage(page: number) {
    this.sql`CREATE TABLE IF NOT EXISTS pages (page INTEGER)`;
    this.sql`INSERT INTO pages VALUES (${page})`;
  }

  pages() {
    return this.sql<{ page: number }>`SELECT page FROM pages`.map(({ page }) => page);
  }

  standUp() {}
  poll() {}

  confirm({ item }: { item: string }) {
    this.sent.push(`confirm ${item}`);
  }

  mail({ item }: { item: string }) {
    this.sent.push(`mail ${item}`);
  }

  log() {
    return this.sent;
  }

  // docs: sub-agent
  async ask(topic: string) {
    const expert = await this.subAgent(Expert, topic); // created at the first call
    return expert.answer();
  }
}

export class Expert extends Agent<Env> {
  answer() {
    return `About ${this.name}: ask ${this.parentPath.at(-1)?.name}.`;
  }
}

// docs: stub
export async function askFromAnywhere(env: Env) {
  const desk = await getAgentByName(env.Desk, "front");
  await desk.ask("tax");
  const expert = await getSubAgentByName(desk, Expert, "tax");
  return expert.answer();
}
