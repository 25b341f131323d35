// Messages for a busy conversation as a part of every agent: what may be accepted, who is asked first, and which clients are
// sent the receipts. The engine makes them take effect.
import type { UIMessage } from "ai";
import { currentContext } from "../../agent/context.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { beforeDeadline } from "../../host/deadline.ts";
import { Connection } from "../../host/connection.ts";
import type { Feature, GivenSteer } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { submittedMessages, type SubmissionInput } from "../../feature/turn-input.ts";
import type { Admission } from "../../turn/admit.ts";
import type { Receipt } from "../../turn/receipts.ts";
import { ThinkError } from "../../util/errors.ts";
import { isUsableId } from "../../util/ids.ts";
import type { SteerContext, SteerDecision, SteeringMembers, SteerOptions } from "./capability.ts";
import { readCommand, receiptFrame, resultFrame, waitingFrame, type SteerCommand } from "./commands.ts";
import { steeringErrors } from "./errors.ts";
import { steerResponse } from "./http.ts";

/** How long `onSteer` may think. */
export const STEER_HOOK_MS = 10_000;

export type SteerRequest = SteerOptions & Omit<GivenSteer, "id">;

export interface SteeringFeature extends Feature {
  accept(request: SteerRequest): Promise<Receipt>;
  edit(id: string, input: SubmissionInput): Receipt;
  withdraw(id: string): Receipt;
  list(): Receipt[];
  inspect(id: string): Receipt | null;
  stopAfterStep(requestId?: string): boolean;
  /** Does what a command asks; the result is for its sender. Throws errors that the sender may read. */
  obey(command: SteerCommand): Promise<Receipt | boolean>;
}

/** A client without a connection. It must not be taken for the one that started the running turn. */
const HTTP_SENDER = Object.freeze({});

interface HookedAgent {
  onSteer(context: SteerContext): ReturnType<SteeringMembers["onSteer"]>;
}

export function openSteering(services: ChatServices): SteeringFeature {
  return new Steering(services);
}

class Steering implements SteeringFeature {
  readonly name = "steering";
  readonly roles = {
    steering: (sender: object, fields: Record<string, unknown>) => this.#receive(sender, fields),
    steers: { accept: (message: GivenSteer) => this.accept(message) }
  };
  readonly routes = { steer: (request: Request, rest: string) => this.#respond(request, rest) };
  readonly #services: ChatServices;
  /** Messages are decided one after the other, so that they are accepted in the order in which they came. */
  #decided: Promise<unknown> = Promise.resolve();

  constructor(services: ChatServices) {
    this.#services = services;
    services.turns.listen({ receipt: (receipt) => services.broadcast(receiptFrame(receipt)) });
  }

  // ── What code and clients ask ──

  accept(request: SteerRequest): Promise<Receipt> {
    if (!this.#services.isOverridden("onSteer")) return Promise.resolve().then(() => this.#accept(request));
    const accepted = this.#decided.then(() => this.#decideAndAccept(request));
    this.#decided = accepted.catch(() => undefined);
    return accepted;
  }

  edit(id: string, input: SubmissionInput): Receipt {
    const [message, ...others] = this.#messages(input);
    if (!message || others.length > 0) throw steeringErrors.MalformedSteerError("one message replaces it");
    return this.#services.turns.steering.edit(id, message.parts);
  }

  withdraw(id: string): Receipt {
    const { steering } = this.#services.turns;
    const known = steering.receipt(id);
    // Asked again, by a client that did not get the answer.
    return known?.state === "withdrawn" ? known : steering.withdraw(id);
  }

  list(): Receipt[] {
    return this.#services.turns.steering.waiting();
  }

  inspect(id: string): Receipt | null {
    return this.#services.turns.steering.receipt(id) ?? null;
  }

  stopAfterStep(requestId?: string): boolean {
    return this.#services.turns.steering.stopAfterStep(requestId);
  }

  async obey(command: SteerCommand): Promise<Receipt | boolean> {
    switch (command.do) {
      case "steer":
      case "follow-up": {
        const { id, message, body } = command;
        return this.accept({ id, body, kind: command.do, input: [message], isFromClient: true });
      }
      case "edit":
        return this.edit(command.id, [command.message]);
      case "withdraw":
        return this.withdraw(command.id);
      case "stop-after-step":
        return this.stopAfterStep(command.id);
    }
  }

  // ── Clients ──

  connected(connection: Connection): void {
    const waiting = this.list();
    if (waiting.length > 0) connection.send(waitingFrame(waiting));
  }

  /** Open where chat over HTTP is. */
  #respond(request: Request, rest: string): Promise<Response | undefined> | undefined {
    const { agent, ids, isOverridden } = this.#services;
    const { plainChat = !isOverridden("onConnect") } = agent as { readonly plainChat?: boolean };
    if (!plainChat) return undefined;
    return steerResponse(request, rest, {
      steering: this,
      newId: () => ids.next(),
      isReadonly: () => runtimeOf(agent).connections.isReadonlyRequest(request)
    });
  }

  async #receive(sender: object, fields: Record<string, unknown>): Promise<void> {
    if (!(sender instanceof Connection)) return;
    const runtime = runtimeOf(this.#services.agent);
    const isReadonly = runtime.agent.isConnectionReadonly(sender);
    const read = readCommand(fields);
    const answer = await runtime.runAs({ connection: sender }, async () => {
      try {
        if (isReadonly) throw steeringErrors.SteerRefusedError("This connection may only watch.");
        if (!read.ok) throw steeringErrors.MalformedSteerError(read.error);
        return { result: await this.obey(read.value) };
      } catch (error) {
        return { error: this.#shown(error) };
      }
    });
    sender.send(resultFrame(fields["key"], answer));
  }

  /** Only errors of ours are for clients. */
  #shown(error: unknown): ThinkError {
    if (error instanceof ThinkError) return error;
    console.error("A message for a busy conversation could not be taken:", error);
    return steeringErrors.MalformedSteerError("it could not be stored");
  }

  // ── Accepting ──

  async #decideAndAccept(request: SteerRequest): Promise<Receipt> {
    const id = request.id ?? this.#services.ids.next();
    const known = this.inspect(id);
    if (known) return known;
    const messages = this.#messages(request.input);
    const decision = await this.#decide({ id, kind: request.kind, messages, running: this.#running() });
    if (!decision) return this.#accept({ ...request, id });
    if (decision.action === "refuse") throw steeringErrors.SteerRefusedError(decision.reason);
    const { input = request.input, kind = request.kind } = decision;
    return this.#accept({ ...request, id, input, kind });
  }

  async #decide(context: SteerContext): Promise<SteerDecision | void> {
    const agent = this.#services.agent as HookedAgent;
    const { clock } = this.#services;
    try {
      const late = () => new Error(`onSteer has not answered for ${STEER_HOOK_MS} ms.`);
      return await beforeDeadline((async () => agent.onSteer(context))(), { clock, timeoutMs: STEER_HOOK_MS, late });
    } catch (error) {
      throw error instanceof ThinkError ? error : steeringErrors.SteerHookError(error);
    }
  }

  #running(): SteerContext["running"] {
    const started = this.#services.turns.started();
    return started && { turnId: started.turnId, requestId: started.requestId };
  }

  #accept(request: SteerRequest): Receipt {
    const { turns, ids, sql } = this.#services;
    const { id = ids.next(), kind, isFromClient } = request;
    if (!isUsableId(id)) throw steeringErrors.MalformedSteerError("its id cannot be used");
    const known = turns.steering.receipt(id);
    if (known) return known;
    if (turns.isOpen(id) || turns.replay(id)) throw steeringErrors.SteerIdTakenError();
    const running = turns.started();
    const own = running ? running.channel : isFromClient ? "web" : undefined;
    const channel = request.channel ?? own;
    const stamped = channel === "web" ? undefined : channel;
    const admission: Admission = {
      requestId: id,
      trigger: isFromClient ? "ws-chat" : "rpc",
      entry: kind,
      input: this.#messages(request.input, { channel: stamped, isFromClient }),
      body: request.body ?? running?.body ?? turns.body,
      channel,
      ...(request.idempotencyId !== undefined && { idempotencyId: request.idempotencyId }),
      clientTools: running?.clientTools ?? turns.clientTools,
      isUnseen: true,
      origin: isFromClient ? (currentContext().connection ?? HTTP_SENDER) : undefined
    };
    sql.transaction(() => {
      turns.admit(admission);
      request.commit?.();
    });
    const receipt = turns.steering.receipt(id);
    if (!receipt) throw new TypeError(`The message ${id} has no receipt.`);
    return receipt;
  }

  #messages(
    input: SubmissionInput,
    { channel, isFromClient = false }: { channel?: string | undefined; isFromClient?: boolean } = {}
  ): UIMessage[] {
    const { ids, transcript } = this.#services;
    const given = submittedMessages(input, { newId: () => ids.next(), ...(channel !== undefined && { channel }) });
    if (given.length === 0) throw steeringErrors.EmptySteerError();
    if (given.some(isEmpty)) throw steeringErrors.EmptySteerError();
    return given.map((message) => {
      // Under an id that is stored its words would be lost.
      const id = transcript.has(message.id) ? ids.next() : message.id;
      const { parts, metadata } = message;
      return { id, role: "user", parts, ...(!isFromClient && metadata !== undefined && { metadata }) };
    });
  }
}

function isEmpty({ role, parts }: UIMessage): boolean {
  return role !== "user" || parts.every((part) => part.type === "text" && part.text.trim() === "");
}
