// The inside of a `Think`: its hooks as the engine sees them, its parts, and its start. The class holds the public names
// and hands everything here.
import type { UIMessage } from "ai";
import { getCurrentAgent } from "../agent/context.ts";
import { runtimeOf, type AgentRuntime } from "../agent/runtime.ts";
import { Blobs } from "../host/blobs.ts";
import { Conversation } from "../journal/conversation.ts";
import { installedSdk } from "../model/index.ts";
import type { AddMessagesOptions as ChainOptions } from "../session/add-messages.ts";
import { provideSessionHost } from "../session/session-host.ts";
import { Session, type SessionAgent } from "../session/session.ts";
import { errorMessage } from "../util/errors.ts";
import { Assembly } from "./assemble.ts";
import type { DegradableStep, OnStartDegradation } from "./degradation.ts";
import { NotStartedError } from "./errors.ts";
import type { OptionalHook, ThinkOverrides } from "./overrides.ts";
import { openParts } from "./parts.ts";
import { Programmatic } from "./programmatic.ts";
import type { ThinkSettings } from "./settings.ts";
import { hasPendingInteraction, untilStable } from "./stability.ts";
import { checkMessages, type MessagesInput } from "./turn-input.ts";
import { UserTurnHooks } from "./turn-hooks.ts";
import type { ThinkParts } from "./wiring.ts";

export interface AddMessagesOptions extends ChainOptions {
  /** Whether clients are told (default true). While a turn streams they are told with what it sends next. */
  readonly broadcast?: boolean;
}

/** What this room uses of the class. */
export interface RoomAgent extends ThinkOverrides, ThinkSettings, SessionAgent {
  configureSession(session: Session): Session | Promise<Session>;
}

export class ThinkRoom {
  readonly runtime: AgentRuntime;
  readonly hooks: UserTurnHooks;
  readonly #agent: RoomAgent;
  readonly #degradations: OnStartDegradation[] = [];
  #session: Session | undefined;
  #parts: ThinkParts | undefined;
  #programmatic: Programmatic | undefined;

  constructor(agent: RoomAgent, isOverridden: (hook: OptionalHook) => boolean) {
    this.#agent = agent;
    this.runtime = runtimeOf(agent);
    this.#provideSession();
    this.runtime.extensions.push({ start: () => this.start() });
    this.hooks = new UserTurnHooks({
      overrides: agent,
      // The parts need the hooks, and the hooks need this: they are looked up when a turn is assembled.
      assembly: new Assembly({ overrides: agent, sdk: installedSdk(), features: () => this.parts }),
      isOverridden,
      runAs: (origin, work) => this.runtime.runAs({ connection: this.parts.connectionOf(origin) }, work),
      isInside: () => getCurrentAgent().agent === this.runtime.agent
    });
  }

  /** What `configureSession` returned. */
  get session(): Session {
    if (!this.#session) throw new NotStartedError(this.#agent.constructor.name);
    return this.#session;
  }

  get parts(): ThinkParts {
    this.#parts ??= openParts({
      runtime: this.runtime,
      settings: this.#agent,
      session: this.session,
      hooks: this.hooks,
      sdk: installedSdk(),
      degrade: (step, error) => this.degrade(step, error)
    });
    return this.#parts;
  }

  get programmatic(): Programmatic {
    const { turns, transcript } = this.parts;
    this.#programmatic ??= new Programmatic({
      turns,
      leaf: () => transcript.leaf(),
      newId: () => this.runtime.ids.next(),
      describeFailure: (error, context) => this.hooks.describeFailure(error, context)
    });
    return this.#programmatic;
  }

  get degradations(): OnStartDegradation[] {
    return structuredClone(this.#degradations);
  }

  /** The part of a start that comes before interrupted turns and the user's `onStart`. A throw of theirs fails it. */
  async start(): Promise<void> {
    if (this.#parts) return;
    this.#session = await this.#agent.configureSession(Session.create(this.#agent));
    // Opened now: clients may connect as soon as the agent is up.
    void this.parts;
  }

  /** Where `Session.create(agent)` finds the agent's storage. */
  #provideSession(): void {
    const { sql, clock, quarantine, connections } = this.runtime;
    const conversations = new Map<string, Conversation>();
    provideSessionHost(this.#agent, {
      sql,
      blobs: new Blobs(sql),
      setAside: quarantine,
      now: () => clock.now(),
      conversation(id) {
        const known = conversations.get(id) ?? new Conversation(sql, id);
        conversations.set(id, known);
        return known;
      },
      broadcast: (frame) => connections.broadcastProtocol(frame)
    });
  }

  /** Told and remembered once, however often it comes up. */
  degrade(step: DegradableStep, error: unknown): void {
    const text = errorMessage(error);
    if (this.#degradations.some((known) => known.step === step)) return;
    this.#degradations.push({ step, error: text });
    console.error(`The start step "${step}" failed; the agent is up without it.`, error);
    this.runtime.emit("start:degraded", { step, error: text });
  }

  async addMessages(messages: MessagesInput, { broadcast = true, ...options }: AddMessagesOptions): Promise<void> {
    const { transcript, turns } = this.parts;
    const given =
      typeof messages === "function" ? await messages(structuredClone([...transcript.messages()])) : messages;
    const checked = checkMessages(given);
    if (checked.length === 0) return;
    transcript.add(checked, options);
    if (broadcast && turns.streaming() === undefined) transcript.announce();
  }

  hasPendingInteraction(): boolean {
    return hasPendingInteraction(this.#stability());
  }

  untilStable(timeoutMs: number | undefined): Promise<boolean> {
    return untilStable({ ...this.#stability(), clock: this.runtime.clock }, timeoutMs);
  }

  #stability(): { turns: ThinkParts["turns"]; messages: () => readonly UIMessage[] } {
    const { turns, transcript } = this.parts;
    return { turns, messages: () => transcript.messages() };
  }
}
