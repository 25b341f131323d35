// Messengers as a feature of an agent. The root has the webhooks, the inbox and the replies; in every agent of its tree
// the feature follows turns that go on after the messenger's own reply.
import { runtimeOf } from "../../agent/runtime.ts";
import type { FetchableAttachment } from "../channels/capability.ts";
import { channels } from "../channels/capability.ts";
import type { MessengerCall, MessengersFeature } from "../channels/channels.ts";
import type { TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { isContinuation } from "../../turn/turn.ts";
import { ASKED_TABLES } from "./approvals.ts";
import { toPostable } from "./attached.ts";
import { fetchAttachment } from "./attachments.ts";
import { normalizeMessengers, type MessengerConnection, type MessengerDefinition } from "./definition.ts";
import { messengerErrors } from "./errors.ts";
import { TurnFollower } from "./follower.ts";
import { Inbox } from "./inbox.ts";
import { Intake } from "./intake.ts";
import { Replies } from "./replies.ts";
import { MESSENGER_STATE_TABLES, sweepState } from "./state.ts";

const SWEEP_PAUSE_MS = 3_600_000;

const TABLES = [...MESSENGER_STATE_TABLES, ...ASKED_TABLES];

export function openMessengers(host: ChatServices): MessengersFeature {
  // What carries this feature was made by `chatSdkMessenger`.
  const definitions = channels.of(host.agent).declared.messengers as object as Record<string, MessengerDefinition>;
  const inbox = new Inbox(host, {
    run: (reply) => replies.run(reply),
    givenUp: (reply) => replies.givenUp(reply)
  });
  const intakes = normalizeMessengers(definitions).map((messenger) => new Intake(messenger, host, inbox));
  const intakeOf = (id: string) => intakes.find(({ messenger }) => messenger.id === id);
  const replies = new Replies(host, inbox, intakeOf);
  const follower = new TurnFollower(host);
  let connections: readonly MessengerConnection[] = [];
  const isRoot = () => !runtimeOf(host.agent).identity.isFacet;
  const sweep = makeSweep(host);
  return {
    name: "messengers",
    tables: TABLES,
    start() {
      follower.work.start();
      inbox.work.start();
    },
    ready() {
      follower.resume();
      if (!isRoot()) return;
      inbox.work.ready();
      connections = intakes.flatMap((intake) => intake.connection() ?? []);
      for (const connection of connections) connection.drive();
    },
    stop() {
      follower.work.stop();
      inbox.work.stop();
      for (const connection of connections) connection.stop();
    },
    nextWake: (at) =>
      [inbox.work.nextWake(), follower.work.nextWake(), ...connections.map((one) => one.nextWake(at))].reduce(
        earlier,
        null
      ),
    async runDue() {
      for (const connection of connections) connection.drive();
      await Promise.all([inbox.work.runDue(), follower.work.runDue()]);
    },
    inTurn: (turn): TurnPart | undefined => {
      if (!isContinuation(turn) || turn.channel === undefined || !intakeOf(turn.channel)) return undefined;
      return { begin: () => follower.begin(turn) };
    },
    settled: (turn, outcome) => follower.settled(turn, outcome),
    async respond(request, path) {
      const intake = isRoot() ? intakes.find(({ messenger }) => messenger.path === path) : undefined;
      if (!intake) return undefined;
      const response = await intake.respond(request);
      sweep();
      return response;
    },
    isWebhook: (path) => isRoot() && intakes.some(({ messenger }) => messenger.path === path),
    take,
    fetchAttachment: fetchFile
  };

  async function take(call: MessengerCall): Promise<void> {
    if (call.do === "post") {
      const { key, messengerId, threadId, message } = call.notice;
      if (!intakeOf(messengerId)) throw messengerErrors.MessengerDefinitionError(messengerId, "it is not declared");
      inbox.add({ key, messengerId, threadId, job: { do: "say", message: toPostable(message) } });
    } else if (call.do === "escalate") {
      replies.escalated(call.question);
    } else {
      const { turn } = call;
      const { messengerId, threadId } = turn;
      inbox.add({ key: `turn:${turn.turnId}`, messengerId, threadId, job: { do: "follow", turn } });
    }
  }

  async function fetchFile(messengerId: string, attachment: FetchableAttachment): Promise<ArrayBuffer> {
    const intake = intakeOf(messengerId);
    if (!intake) throw messengerErrors.MessengerDefinitionError(messengerId, "it is not declared");
    return (await fetchAttachment(await intake.adapter(), attachment)).slice().buffer;
  }
}

/** Sweeps what adapters have stored, once an hour at most. */
function makeSweep({ clock, sql }: ChatServices): () => void {
  let sweptAt = 0;
  return () => {
    if (clock.now() - sweptAt < SWEEP_PAUSE_MS) return;
    sweptAt = clock.now();
    sweepState(sql, sweptAt);
  };
}

/** The earlier of two times; null is none. */
function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
