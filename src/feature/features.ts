// How the features of one agent join: with the start, with a value of the class that carries them, or when they are first
// asked for. A feature that fails is named in the log; it costs its own part and not the agent. What they are asked in the
// life of the agent is life.ts, and in turns turn-features.ts.
import { errorMessage } from "../util/errors.ts";
import { isObject } from "../util/json.ts";
import { WarnOnce } from "../util/warn-once.ts";
import type { Capability } from "./capability.ts";
import { FeatureClashError, featureErrors } from "./errors.ts";
import { carriedBy, type Feature, type FeatureFactory } from "./feature.ts";
import { FeatureList } from "./feature-list.ts";
import type { ChatServices, Services } from "./services.ts";

export class Features extends FeatureList {
  readonly services: Services;
  readonly #capabilities: readonly Capability[];
  readonly #opened = new Map<Capability, Feature>();
  /** Those that joined with a value which carries them. */
  readonly #joined = new Map<FeatureFactory, Feature>();
  readonly #adopted = new WeakSet<object>();
  readonly #warnings = new WarnOnce();
  #chat: ChatServices | undefined;
  #phase: "new" | "started" | "ready" = "new";

  constructor(services: Services, capabilities: readonly Capability[]) {
    super();
    this.services = services;
    this.#capabilities = capabilities;
  }

  // ── The start ──

  /** Opens the features whose wakes count also when a start fails. They are started before the conversation. */
  openWithAgent(): void {
    for (const capability of this.#capabilities) if (capability.opensWithAgent) this.#open(capability, "with-agent");
  }

  /** Before the user's `onStart`. What the conversation throws fails the start; any other feature is left out. */
  async start(): Promise<void> {
    const { agent } = this.services;
    const first = this.beforeCapabilities;
    for (const feature of first) await feature.start?.();
    for (const capability of this.#capabilities) {
      if (!capability.open || this.#opened.has(capability) || !capability.isUsed(agent)) continue;
      this.#guardedOpen(capability.name, () => this.#open(capability));
    }
    if (this.#chat) this.join(this.#chat.ownFeatures());
    this.#phase = "started";
    for (const feature of this.all) {
      if (first.includes(feature)) continue;
      try {
        await feature.start?.();
      } catch (error) {
        this.#leaveOut(feature, error);
      }
    }
  }

  /** After it. What `getActions()` and the like bring joins now: they may rely on `onStart`. */
  ready(): void {
    this.#phase = "ready";
    for (const feature of this.with("ready")) this.guarded(feature, "ready", () => feature.ready());
    this.bringAll();
    if (this.with("nextWake").length > 0) this.services.rearm();
  }

  // ── Joining ──

  /** From now on there is a conversation, and features may be opened that need one. */
  serve(chat: ChatServices): void {
    this.#chat = chat;
  }

  /** Throws NotStartedError. */
  get chat(): ChatServices {
    if (!this.#chat) throw featureErrors.NotStartedError(this.services.agent.constructor.name);
    return this.#chat;
  }

  /** Those of the class itself, after the capabilities. */
  join(factories: readonly FeatureFactory[]): void {
    for (const factory of factories) this.#openBy(factory);
  }

  /** The feature of a capability; opened now if need be. Throws what its factory throws, and NotStartedError. */
  of<Has extends Feature>(capability: Capability<Has>): Has {
    const known = this.find(capability) ?? this.#open(capability);
    if (!known) throw new TypeError(`The agent does not use "${capability.name}".`);
    // Kept under the capability that made it.
    return known as Has;
  }

  /** The feature of a capability that is in use; of one that values carry, once there is such a value. */
  find<Has extends Feature>(capability: Capability<Has>): Has | undefined {
    try {
      return (this.#opened.get(capability) ?? this.#bring(capability)) as Has | undefined;
    } catch (error) {
      // The caller may be a start, or a request that is not about this feature. Turns fail with the reason.
      this.#warnings.warn(`${capability.carried?.method}() failed: ${errorMessage(error)}`);
      return undefined;
    }
  }

  /** Features that values of the class carry, such as tools of `getTools()`, join with the first of them. */
  adopt(carriers: Iterable<unknown>): void {
    for (const value of carriers) {
      const factory = carriedBy(value);
      if (!factory || !isObject(value) || this.#adopted.has(value)) continue;
      const feature = this.#joined.get(factory) ?? this.#openBy(factory);
      if (!feature) continue;
      this.#adopted.add(value);
      feature.adopt?.(value);
      if (this.#joined.has(factory)) continue;
      this.#joined.set(factory, feature);
      this.#startLate(feature);
    }
  }

  /** What values of the class bring joins now. Throws what a method throws, and for a value that carries no feature. */
  bringOrThrow(): void {
    for (const capability of this.#capabilities) this.#bring(capability);
  }

  bringAll(): void {
    for (const capability of this.#capabilities) if (capability.carried) this.find(capability);
  }

  /** Whether no value of the class can bring a further feature. */
  get isComplete(): boolean {
    const { agent } = this.services;
    return this.#capabilities.every((one) => !one.carried || this.#opened.has(one) || !one.isUsed(agent));
  }

  #bring(capability: Capability): Feature | undefined {
    const { carried } = capability;
    const { agent } = this.services;
    const known = this.#opened.get(capability);
    if (known || !carried || !capability.isUsed(agent)) return known;
    const value = carried.read(agent);
    if (!isObject(value)) throw carried.refuse();
    const given = Object.values(value).filter((one) => one !== undefined);
    if (given.length === 0) return undefined;
    const factory = given.map(carriedBy).find((one) => one !== undefined);
    if (!factory) throw carried.refuse();
    const feature = this.#openBy(factory);
    if (!feature) return undefined;
    this.#opened.set(capability, feature);
    this.#startLate(feature);
    return feature;
  }

  #open(capability: Capability, place?: "with-agent"): Feature | undefined {
    const feature = capability.open?.(this);
    if (!feature) return undefined;
    this.#opened.set(capability, feature);
    const listed = this.#capabilities.indexOf(capability);
    this.add(feature, place ?? (listed < 0 ? "joined" : listed));
    if (this.#phase !== "new") this.#startLate(feature);
    return feature;
  }

  #openBy(factory: FeatureFactory): Feature | undefined {
    return this.#guardedOpen(factory.name, () => this.add(factory(this.chat)));
  }

  #guardedOpen<T>(name: string, open: () => T): T | undefined {
    try {
      return open();
    } catch (error) {
      const failed = error instanceof FeatureClashError ? error.feature : name || "unnamed";
      this.services.degrade(`feature:${failed}`, error);
      return undefined;
    }
  }

  /** One that joins after the others were started. */
  #startLate(feature: Feature): void {
    if (this.#phase === "new") return;
    try {
      const started = feature.start?.();
      if (started) this.services.background(started.catch((error: unknown) => this.#leaveOut(feature, error)));
    } catch (error) {
      this.#leaveOut(feature, error);
    }
    if (this.#phase === "ready") this.guarded(feature, "ready", () => feature.ready?.());
  }

  #leaveOut(feature: Feature, error: unknown): void {
    this.remove(feature);
    this.services.degrade(`feature:${feature.name}`, error);
  }
}
