// What the features of an agent are asked outside of turns: by its clients, its sub-agents, its wakes and its end.
import type { Connection } from "../host/connection.ts";
import type { Feature } from "./feature.ts";
import { logFailure } from "./feature-list.ts";
import type { Features } from "./features.ts";

/** What is known of an address that a feature of the package does not answer. */
export interface FeatureLifeInit {
  readonly features: Features;
  /** What follows the agent's own address in a URL; undefined when the URL does not hold it. */
  readonly pathOf: (url: string) => string | undefined;
}

export class FeatureLife {
  readonly #features: Features;
  readonly #pathOf: FeatureLifeInit["pathOf"];

  constructor({ features, pathOf }: FeatureLifeInit) {
    this.#features = features;
    this.#pathOf = pathOf;
  }

  // ── Clients ──

  connected(connection: Connection): void {
    for (const feature of this.#features.with("connected"))
      this.#features.guarded(feature, "connected", () => feature.connected(connection));
  }

  disconnected(connection: Connection): void {
    for (const feature of this.#features.with("disconnected"))
      this.#features.guarded(feature, "disconnected", () => feature.disconnected(connection));
  }

  /** True when a feature took the frame. */
  async receive(connection: Connection, text: string): Promise<boolean> {
    for (const feature of this.#features.with("receive")) if (await feature.receive(connection, text)) return true;
    return false;
  }

  /**
   * A request, before the user's `onRequest`: by its first path segment, then to features that answer addresses of another form.
   * `onlyChecked`: only features that check their callers themselves.
   */
  respond(request: Request, onlyChecked: boolean): Promise<Response | undefined> | undefined {
    const answers = [...this.#features.with("routes"), ...this.#features.with("respond")];
    if (this.#features.isComplete && answers.length === 0 && !this.#features.holderOf("callbacks")) return undefined;
    return this.#respondBy(request, { below: this.#pathOf(request.url), onlyChecked });
  }

  async #respondBy(
    request: Request,
    { below, onlyChecked }: { below: string | undefined; onlyChecked: boolean }
  ): Promise<Response | undefined> {
    const [path, name = "", rest = ""] = /^\/([^/]+)(.*)$/s.exec(below ?? "") ?? [];
    const routed = path === undefined || onlyChecked ? undefined : await this.#route(request, { name, rest });
    return routed ?? this.#offer(request, { path: below ?? new URL(request.url).pathname, onlyChecked });
  }

  /** For features whose addresses the class chooses. */
  async #offer(
    request: Request,
    { path, onlyChecked }: { path: string; onlyChecked: boolean }
  ): Promise<Response | undefined> {
    const holder = this.#features.holderOf("callbacks");
    const called = holder && (await this.#answer(holder, "callbacks", () => holder.roles?.callbacks?.(request, path)));
    if (called || onlyChecked) return called;
    this.#features.bringAll();
    for (const feature of this.#features.with("respond")) {
      const response = await this.#answer(feature, "respond", () => feature.respond(request, path));
      if (response) return response;
    }
    return undefined;
  }

  async #route(request: Request, { name, rest }: { name: string; rest: string }): Promise<Response | undefined> {
    const find = () => this.#features.with("routes").find(({ routes }) => Object.hasOwn(routes, name));
    if (!find()) this.#features.bringAll();
    const feature = find();
    return feature && this.#answer(feature, "routes", () => feature.routes[name]?.(request, rest));
  }

  async #answer(
    feature: Feature,
    member: string,
    work: () => Response | undefined | Promise<Response | undefined>
  ): Promise<Response | undefined> {
    try {
      return await work();
    } catch (error) {
      logFailure(feature, member, error);
      return new Response("Internal Server Error", { status: 500 });
    }
  }

  // ── Wakes ──

  /** The earliest; null when none needs one. */
  nextWake(nowMs: number): number | null {
    const wakes = this.#features
      .with("nextWake")
      .map((feature) => this.#features.guarded(feature, "nextWake", () => feature.nextWake(nowMs)) ?? null);
    return wakes.reduce((first, at) => (first === null || (at !== null && at < first) ? at : first), null);
  }

  /** All of them run; then a failure of any is the wake's, which comes again. */
  async runDue(): Promise<void> {
    const features = this.#features.with("runDue");
    const results = await Promise.allSettled(features.map(async (feature) => feature.runDue()));
    const failed = results.flatMap((result, index) => {
      if (result.status === "fulfilled") return [];
      logFailure(features[index], "runDue", result.reason);
      return [result.reason];
    });
    if (failed.length > 0) throw failed[0];
  }

  // ── The end ──

  stop(): void {
    for (const feature of this.#features.with("stop")) this.#features.guarded(feature, "stop", () => feature.stop());
  }
}
