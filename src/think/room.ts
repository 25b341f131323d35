// The inside of a `Think`: its hooks as the engine sees them, its parts, and its start. The class holds the public names
// and hands everything here.
import type { UIMessage } from "ai";
import { currentDurable, getCurrentAgent } from "../agent/context.ts";
import { runtimeOf, type AgentRuntime } from "../agent/runtime.ts";
import { Blobs } from "../host/blobs.ts";
import { Conversation } from "../journal/conversation.ts";
import { installedSdk } from "../model/index.ts";
import type { AddMessagesOptions as ChainOptions } from "../session/add-messages.ts";
import { provideSessionHost } from "../session/session-host.ts";
import { takeOverOriginal } from "../session/take-over.ts";
import { Session, type SessionAgent } from "../session/session.ts";
import { errorMessage } from "../util/errors.ts";
import type { ActionOutput, ApprovalDecision } from "./actions-port.ts";
import { Assembly } from "./assemble.ts";
import { ContextOverflow } from "./context-overflow.ts";
import type { DegradableStep, OnStartDegradation } from "./degradation.ts";
import type { PromptExplanation } from "./explain-prompt.ts";
import { NotStartedError } from "./errors.ts";
import { keyId } from "./idempotency-key.ts";
import type { OptionalHook, ThinkOverrides } from "./overrides.ts";
import { openParts } from "./parts.ts";
import { Programmatic } from "./programmatic.ts";
import { RecoveryHooks } from "./recovery-hooks.ts";
import type { ThinkSettings } from "./settings.ts";
import { hasPendingInteraction, untilStable } from "./stability.ts";
import type { ThinkActions } from "./think-actions.ts";
import { checkMessages, type MessagesInput } from "./turn-input.ts";
import { UserTurnHooks } from "./turn-hooks.ts";
import type { ThinkParts } from "./wiring.ts";

export interface AddMessagesOptions extends ChainOptions {
  /** Whether clients are told (default true). While a turn streams they are told with what it sends next. */
  readonly broadcast?: boolean;
  /** A second call with the same key adds nothing. */
  readonly idempotencyKey?: string;
}

/** What this room uses of the class. */
export interface RoomAgent extends ThinkOverrides, ThinkSettings, SessionAgent {
  configureSession(session: Session): Session | Promise<Session>;
}

/** What only the class itself can give. */
export interface RoomInit {
  /** Whether the class has a hook of its own. */
  readonly isOverridden: (hook: OptionalHook) => boolean;
  /** Its `repairInterruptedToolPart`, which others cannot call. */
  readonly repairPart: (part: UIMessage["parts"][number]) => UIMessage["parts"][number];
  readonly env: unknown;
}

export class ThinkRoom {
  readonly runtime: AgentRuntime;
  readonly hooks: UserTurnHooks;
  readonly overflow: ContextOverflow;
  readonly #agent: RoomAgent;
  readonly #isOverridden: (hook: OptionalHook) => boolean;
  readonly #env: unknown;
  readonly #degradations: OnStartDegradation[] = [];
  readonly #assembly: Assembly;
  #session: Session | undefined;
  #parts: ThinkParts | undefined;
  #programmatic: Programmatic | undefined;

  constructor(agent: RoomAgent, { isOverridden, repairPart, env }: RoomInit) {
    this.#agent = agent;
    this.#isOverridden = isOverridden;
    this.#env = env;
    this.runtime = runtimeOf(agent);
    this.#provideSession();
    this.overflow = new ContextOverflow({
      session: () => this.session,
      clock: this.runtime.clock,
      emit: (type, payload) => this.runtime.emit(type, payload)
    });
    this.runtime.extensions.push({ start: () => this.start() });
    // The parts need the hooks, and the hooks need this: they are looked up when a turn is assembled.
    this.#assembly = new Assembly({
      overrides: agent,
      sdk: installedSdk(),
      features: () => this.parts,
      overflow: {
        compact: (turn, attempt) => this.hooks.compact(turn, attempt, "proactive"),
        path: (leafId) => this.parts.transcript.path(leafId),
        has: (messageId) => this.parts.transcript.has(messageId)
      }
    });
    this.hooks = new UserTurnHooks({
      overrides: agent,
      assembly: this.#assembly,
      isOverridden,
      runAs: (origin, work) => this.runtime.runAs({ connection: this.parts.connectionOf(origin) }, work),
      isInside: () => getCurrentAgent().agent === this.runtime.agent,
      recovery: new RecoveryHooks({
        overrides: agent,
        messages: () => [...this.parts.transcript.messages()],
        repairPart,
        settledPart: (part, requestId) => this.actions.settledPart(part, requestId)
      }),
      compact: (event, leafId) => this.overflow.compact(event, leafId),
      prepare: () => (this.session.hasThreshold ? this.session.compactIfDue() : undefined),
      now: () => this.runtime.clock.now(),
      agentName: () => agentName(this.runtime),
      isAction: (name) => this.actions.desk?.isAction(name) ?? false,
      attachmentsOf: (turnId) => this.actions.desk?.attachmentsOf(turnId) ?? [],
      annotateRepair: (chunk) => this.actions.annotateRepair(chunk)
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
      overrides: this.#agent,
      isOverridden: this.#isOverridden,
      env: this.#env,
      degrade: (step, error) => this.degrade(step, error)
    });
    return this.#parts;
  }

  get actions(): ThinkActions {
    return this.parts.actions;
  }

  approve(executionId: string, decision: ApprovalDecision = {}): Promise<ActionOutput> {
    const { desk } = this.actions;
    return (
      desk?.approveExecution(executionId, { ...decision, ...this.#decider }) ?? Promise.resolve(noSuch(executionId))
    );
  }

  reject(executionId: string, decision: ApprovalDecision & { reason?: string } = {}): Promise<ActionOutput> {
    const { desk } = this.actions;
    return (
      desk?.rejectExecution(executionId, { ...decision, ...this.#decider }) ?? Promise.resolve(noSuch(executionId))
    );
  }

  /** The client that calls, so that what follows is its own stream. */
  get #decider(): { origin?: unknown } {
    const { connection } = getCurrentAgent();
    return connection === undefined ? {} : { origin: connection };
  }

  /** A recovery hook runs before `onStart`. A turn that it starts must not: it waits for the end of the start. */
  startTurn<T>(call: (turns: Programmatic) => Promise<T>): Promise<T> {
    const isTooEarly = currentDurable() !== undefined && !this.runtime.activation.isStarted;
    return isTooEarly ? this.runtime.untilStarted().then(() => call(this.programmatic)) : call(this.programmatic);
  }

  get programmatic(): Programmatic {
    const { turns, transcript } = this.parts;
    this.#programmatic ??= new Programmatic({
      turns,
      leaf: () => transcript.leaf(),
      newId: () => this.runtime.ids.next(),
      durableKey: () => currentDurable()?.work.nextKey(),
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
    takeOverOriginal(sql);
    provideSessionHost(this.#agent, {
      sql,
      blobs: new Blobs(sql),
      setAside: quarantine,
      now: () => clock.now(),
      pause: () => clock.sleep(0),
      conversation(id) {
        const known = conversations.get(id) ?? new Conversation(sql, id, quarantine);
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

  async addMessages(messages: MessagesInput, options: AddMessagesOptions): Promise<void> {
    const { broadcast = true, idempotencyKey, ...chain } = options;
    const { transcript, turns } = this.parts;
    const idempotencyId = idempotencyKey === undefined ? undefined : keyId("messages", idempotencyKey);
    if (idempotencyId !== undefined && transcript.hasAdded(idempotencyId)) return;
    const given =
      typeof messages === "function" ? await messages(structuredClone([...transcript.messages()])) : messages;
    const checked = checkMessages(given);
    if (checked.length === 0) return;
    const isAdded = transcript.add(checked, { ...chain, ...(idempotencyId !== undefined && { idempotencyId }) });
    if (isAdded && broadcast && turns.streaming() === undefined) transcript.announce();
  }

  /** For a turn that nobody runs: the tools the client described last are part of it. */
  explainPrompt(channel: string | undefined): Promise<PromptExplanation> {
    const { turns } = this.parts;
    return this.#assembly.explainPrompt({
      ...NOBODYS_TURN,
      body: turns.body,
      channel,
      clientTools: turns.clientTools,
      signal: new AbortController().signal
    });
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

/** The class and the name, as far as it has one. */
function agentName({ identity }: AgentRuntime): string {
  try {
    return `${identity.className} "${identity.name}"`;
  } catch {
    // Addressed by a raw id.
    return identity.className;
  }
}

const NOBODYS_TURN = {
  turnId: "",
  requestId: "",
  messageId: "",
  attempt: 0,
  trigger: "programmatic",
  continuation: false,
  generation: 0,
  origin: undefined
} as const;

function noSuch(executionId: string): { status: "error"; executionId: string; error: string } {
  return { status: "error", executionId, error: "This execution is no longer pending." };
}
