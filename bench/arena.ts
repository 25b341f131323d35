// One contender's place in a run: its bundle, a process that stays warm for the whole run, a spare one that scenarios
// may kill, and the clients of the current round. Histories are seeded once and shared by the rounds.
import type { BundleSize } from "./bundle.ts";
import type { Contender } from "./contenders.ts";
import { Connection } from "./driver/connection.ts";
import { seedHistory } from "./driver/history.ts";
import { ContenderServer } from "./server.ts";

export class Arena {
  readonly contender: Contender;
  readonly bundle: BundleSize;
  /** Warm: never killed. */
  readonly main: ContenderServer;
  /** Its data is kept, its process comes and goes. */
  readonly spare: ContenderServer;
  readonly #clients = new Map<string, Connection>();
  readonly #seeded = new Map<string, Promise<void>>();

  constructor(contender: Contender, bundle: BundleSize, workerFile: string) {
    this.contender = contender;
    this.bundle = bundle;
    this.main = new ContenderServer(workerFile);
    this.spare = new ContenderServer(workerFile);
  }

  /** The name of an object on this server that has a history of at least so many messages. */
  async withHistory(server: ContenderServer, name: string, messages: number): Promise<string> {
    const key = `${server === this.main ? "main" : "spare"}/${name}`;
    let seeded = this.#seeded.get(key);
    if (seeded === undefined) {
      seeded = seedHistory({ server, name, messages, by: this.contender.isOpponent ? "client" : "http" });
      this.#seeded.set(key, seeded);
    }
    await seeded;
    return name;
  }

  /** Connects a client to an object of the main process, which stays awake for this round. */
  async openClient(name: string): Promise<Connection> {
    const client = this.#clients.get(name) ?? (await Connection.open(this.main.url("ws", name)));
    client.keepAwake();
    this.#clients.set(name, client);
    return client;
  }

  /** One that was connected before the round. */
  client(name: string): Connection {
    const client = this.#clients.get(name);
    if (client === undefined) throw new Error(`No client was connected to "${name}".`);
    return client;
  }

  closeClients(): void {
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }

  /** Starts the spare process anew. */
  async restartSpare(): Promise<void> {
    await this.spare.kill();
    await this.spare.start();
  }

  async remove(): Promise<void> {
    this.closeClients();
    await Promise.all([this.main.remove(), this.spare.remove()]);
  }
}

/** Runs the work with a connection that is closed afterwards. */
export async function connected<Result>(
  server: ContenderServer,
  name: string,
  work: (connection: Connection) => Promise<Result>
): Promise<Result> {
  const connection = await Connection.open(server.url("ws", name));
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}
